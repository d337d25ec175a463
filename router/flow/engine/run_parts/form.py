"""What a run knows from its requester: the slots, the files in them, and what may be asked."""

from typing import Annotated, ClassVar

from pydantic import JsonValue

from router.domain.documents import Document
from router.domain.errors import ArgumentOffer
from router.domain.locale import Localised
from router.domain.value import Value
from router.flow.definition import SlotValues
from router.flow.engine.run_parts.draftable import Bound, Draftable, OnePer
from router.flow.slot_types.slot import Slot

MAX_SLOTS_BYTES = 256 * 1024
"""Bytes of JSON that a requester may give a run in all; views of it are carried by others."""
MAX_INQUIRIES = 8
"""Times that a state's tool may ask back: one that never has enough is broken."""
MAX_FILE_NAMES = 1_000
MAX_PATHS = 1_000
"""Paths of values that a run remembers something of; the oldest ones go."""

Slots = Annotated[SlotValues, OnePer("slot")]


class Inquiry(Value):
    """What a tool asked back when it was called, as slots to be filled."""

    state: str
    """The one that calls the tool."""
    say: Localised
    slots: Annotated[dict[str, Slot], OnePer("question")]
    fields: Annotated[dict[str, dict[str, str]], OnePer("question")]
    """By question: which field's answer is in which slot. The field without a name stands for
    the question itself, to which one says yes or no."""


class Form(Draftable):
    """What the requester gave, and what was looked up from that."""

    max_bytes: ClassVar[int] = 512 * 1024

    slots: Slots = {}
    derived_slots: Annotated[list[str], OnePer("slot")] = []
    """Slots that a lookup filled: they are looked up again when what they come from changes."""
    replaced_values: Slots = {}
    """Values of slots that were emptied by an answer for another slot. What such a slot is now is
    said once it is looked up again."""
    latest_slots: Annotated[list[str], OnePer("slot")] = []
    """The slots that the requester gave last, all in one message."""
    offered_values: Annotated[SlotValues, OnePer("value")] = {}
    """Values that were given and aren't checked yet, by slot name or path."""
    closed_lists: Annotated[list[str], OnePer("slot")] = []
    """Lists that the requester has no more items for."""
    skipped_slots: Annotated[list[str], OnePer("slot")] = []
    """Slots that the requester left empty: they aren't asked for again."""
    wanted_paths: Annotated[list[str], Bound(MAX_PATHS, "drop_oldest")] = []
    """Slots that the requester wants to supply: they are asked for whatever their `when` says."""
    file_names: Annotated[dict[str, str], Bound(MAX_FILE_NAMES, "drop_oldest")] = {}
    """What the requester's files are called, by id: people are shown names."""
    documents: Annotated[dict[str, Document], OnePer("file")] = {}
    """What was read of files in the slots, by id."""
    remarks: Annotated[dict[str, list[Localised]], OnePer("file")] = {}
    """What the flow has to say of a file that it took, by id."""
    options: Annotated[dict[str, ArgumentOffer], OnePer("slot")] = {}
    """What a check would have the requester choose from, by slot."""
    inquiries: Annotated[list[Inquiry], OnePer("state", times=MAX_INQUIRIES)] = []
    """Everything that tools asked back. From then on their slots count as the file's own."""

    def known_slots(self) -> dict[str, JsonValue]:
        """Return the slots that have a value, without the answers to what a tool asked back."""
        asked_back = {name for inquiry in self.inquiries for name in inquiry.slots}
        return {
            name: value
            for name, value in self.slots.items()
            if value is not None and name not in asked_back
        }

    def for_branch(self) -> "Form":
        """Return what a branch of the run knows as it begins."""
        return Form(
            slots=self.slots,
            derived_slots=self.derived_slots,
            closed_lists=self.closed_lists,
            skipped_slots=self.skipped_slots,
            file_names=self.file_names,
            documents=self.documents,
            remarks=self.remarks,
        )

    def forget_answers(self) -> None:
        """Forget everything that the requester gave; the files' names stay known."""
        self.slots, self.offered_values, self.options = {}, {}, {}
        self.derived_slots, self.closed_lists, self.skipped_slots = [], [], []
        self.wanted_paths, self.inquiries = [], []

    def close_list(self, name: str) -> None:
        """Note that the requester has no more items for a list."""
        self.closed_lists = sorted({*self.closed_lists, name})

    def skip(self, *names: str) -> None:
        """Note that the requester left these slots empty."""
        self.skipped_slots = sorted({*self.skipped_slots, *names})

    def want(self, path: str) -> None:
        """Note that the requester wants to supply what is at this path, and doesn't skip it."""
        self.skipped_slots = [name for name in self.skipped_slots if name != path]
        self.wanted_paths = sorted({*self.wanted_paths, path})
