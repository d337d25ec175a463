"""Names that no tool may have: of functions by which models decide, and of our own activities."""

RESERVED = frozenset(
    (
        *("respond_message", "ask_clarification", "hand_off", "find_capabilities"),
        *("dispatch_to_flow", "dispatch_to_skill", "fill_slots", "cancel_flow"),
        *("ask_user", "say_missing", "done", "note", "hand_back"),
        *("plan", "accept", "ask", "retry", "replan"),
        *(
            "understand",
            "decide",
            "phrase",
            "phrase_plainly",
            "think",
            "condense",
            "reflect",
            "tell_flow",
        ),
        *("recall", "keep", "write", "look_up", "publish", "notify"),
    )
)
"""A tool of such a name would be offered beside the function, or taken for the activity."""

TAKEN = "has a name that means something else to models or workers"
"""What is wrong with it; the remedy is another name."""
ANOTHER = "give it another name: what it does, as in find_rooms"
