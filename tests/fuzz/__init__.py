"""Fuzzing that stays: for hours by `make fuzz`, and what it begins with in every `make test`.

An entrance is where strangers' bytes come in (`entrance`): what is sent to it is made of its seeds
(`corpus/NAME`, and what tests of it try already) by libFuzzer through `atheris`, which keeps what
reaches lines of ours that nothing before it did. What must hold of every input is in `trial`.
"""
