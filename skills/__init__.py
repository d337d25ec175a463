"""The skills that ship: files, and no code.

A package all the same: a folder `skills` in which somebody types `python -m router` would
otherwise stand in for it.
"""
