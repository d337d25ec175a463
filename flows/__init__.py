"""The flows that ship: files, and no code.

A package all the same: a folder `flows` in which somebody types `python -m router` would
otherwise stand in for it.
"""
