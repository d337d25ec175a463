"""Names that no tool may have: those of the functions by which models decide."""

RESERVED = frozenset(
    (
        *("respond_message", "ask_clarification", "hand_off", "find_capabilities"),
        *("dispatch_to_flow", "dispatch_to_skill", "fill_slots", "cancel_flow"),
        *("ask_user", "say_missing", "done", "note", "hand_back"),
        *("plan", "accept", "ask", "retry", "replan"),
    )
)
"""A tool of such a name would be offered beside the function: nobody could say which is called."""

TAKEN = "has a name by which models answer, no tool"
"""What is wrong with it; the remedy is another name."""
ANOTHER = "give it another name: what it does, as in find_rooms"
