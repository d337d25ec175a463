"""The kinds of states of the core: one class each, with its keys, ways out, faults and moves.

They are registered when this is imported; `router.flow` does so before anything else. Extensions
have more (`Extension.state_kinds`).
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
    "CORE_KINDS",
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

CORE_KINDS = frozenset(KINDS)
"""The kinds that every process has."""

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
