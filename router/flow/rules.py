"""By which rules of the machine a run lives: those that were the newest when it began."""

RULES = "=rules"
"""The key of a definition that says which; no file has it."""
STAND_INS_AND_SKIPS = 2
"""Since these rules those who are away are stood in for, and nobody is asked for the same twice."""
HOLDS_LOOKUPS = 3
"""Since these a lookup that fails for good in an approval waits for an operator."""
LEAVES_NOTHING_DONE = 4
"""Since these a run that isn't completed leaves nothing done, unless its file says so, and isn't
over before everything is undone."""
COUNTS_IN_BRANCHES = 5
"""Since these an agreement counts in the branches of a run too, and one in a branch everywhere."""
NEWEST_RULES = COUNTS_IN_BRANCHES
