"""The kinds of states: one class a kind, with its keys, ways out, faults, moves and picture.

Importing this completes `State` and `FlowDefinition`; `router.flow` does so before anything else.
"""

from router.flow.definition import (
    KINDS,
    Approve,
    Branch,
    FlowDefinition,
    Retry,
    State,
    Triggers,
    Wait,
    Withdrawal,
)
from router.flow.slot_types.slot import Choice, Definition, Reference, Slot, SlotCheck
from router.flow.states import approve, call, check, collect, confirm, parallel, say, sub_flow, wait

__all__ = [
    "FILE_MODELS",
    "approve",
    "call",
    "check",
    "collect",
    "confirm",
    "parallel",
    "say",
    "sub_flow",
    "wait",
]

State.model_rebuild(force=True)
FlowDefinition.model_rebuild(force=True)

FILE_MODELS: tuple[type[Definition], ...] = (
    FlowDefinition,
    Triggers,
    Slot,
    Reference,
    Choice,
    SlotCheck,
    State,
    *(KINDS[kind] for kind in sorted(KINDS)),
    Branch,
    Approve,
    Wait,
    Retry,
    Withdrawal,
)
"""What a flow file is made of, in the order in which it is explained."""
