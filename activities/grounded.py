"""What a model's commands may state: what was said and found, and what a form asks for is dropped.

Days, names and choices have to stand in the message, in what was said before or in what the house's
own tools found; figures in what a person said; an address in what a person gave.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from activities.capabilities import Capabilities
from router.contracts import activities
from router.domain.commands import (
    Amend,
    CallTool,
    Command,
    FillSlots,
    Misunderstood,
    ReplyText,
    RunSkill,
    StartFlow,
)
from router.flow.slot_types.slot import Slot, slot_at
from router.flow.view import FormView
from router.routing import addresses, decider, replies
from router.routing.addresses import ungiven
from router.routing.decider import DecisionPolicy
from router.routing.message_files import MessageFiles
from router.understanding.grounding import (
    bare,
    changed,
    grounded_call,
    is_figure,
    stated,
    without_whole,
)


@dataclass(frozen=True)
class GroundedCommands:
    """A model's commands for a message, held against what was said and found."""

    given: activities.Decide
    capabilities: Capabilities
    policy: DecisionPolicy
    files: MessageFiles
    remembered: Sequence[str] = ()

    def held(self, commands: Sequence[Command]) -> list[Command]:
        """The commands, each with what holds of it."""
        kinds = Counter(map(type, commands))
        return [self.shaped(each, alone=kinds[type(each)] == 1) for each in commands]

    def shaped(self, command: Command, *, alone: bool) -> Command:
        """The command with what holds of its values; a form, a question or nothing instead of it.

        `alone`: no other command of the message is of its kind, so that rules may read the message
        for it.
        """
        now, active = self.given.situation.now, self.given.situation.active_form
        text = decider.words_of(self.given.message)
        before = replies.said_before(self.given.history) if self.policy.grounded else None
        if active is not None and active.asking and decider.answers(command, active.flow):
            values = self._changed(active, command.slots)
            return FillSlots(slots=values) if values else Misunderstood()
        if isinstance(command, Amend):
            waiting = next(
                one for one in self.given.situation.handed_in_forms if one.id == command.run
            )
            values = self._changed(waiting, command.slots)
            which = replies.WHAT_TO_CHANGE.within(self.given.situation.locale)
            made = command.replace(slots=values)
            return made if values else ReplyText(text=which)
        if isinstance(command, StartFlow):
            slots = self.capabilities.slots(command.flow)
            # Of several flows rules can't tell which of them is to have what they read.
            own = without_whole(command.slots, text) if before is not None else command.slots
            said = text if alone else ""
            values = self._as_said(slots, lambda known: stated(slots, own, said, now, known))
            return command.replace(slots=values)
        if isinstance(command, CallTool) and before is not None:
            known = [*before, *self._found_before(), *self.files.words, *self._own_facts(command)]
            return self._grounded(command, known, alone)
        if isinstance(command, RunSkill):
            request = self._unparroted({"request": command.request}, text)["request"]
            return command.replace(request=str(request))
        return command

    def _changed(self, view: FormView, slots: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        text, now = decider.words_of(self.given.message), self.given.situation.now
        return self._as_said(
            view.fillable, lambda known: changed(view, slots, text, now, known or ())
        )

    def _own_facts(self, call: CallTool) -> Sequence[str]:
        """What a tool of the house may be asked about besides; a flow's slots are never filled so.

        What is remembered leaves the house no more than what it found.
        """
        return () if self.capabilities.limits(call.tool).outward else self.remembered

    def _as_said(
        self,
        slots: Mapping[str, Slot],
        read: Callable[[Sequence[str] | None], dict[str, JsonValue]],
    ) -> dict[str, JsonValue]:
        """What a form is given: figures that a person said; of words and days also the desk's.

        Neither has anything of a stranger's page or server, which the person hasn't read, nor an
        address that no person gave: the form asks for those.
        """
        if not self.policy.grounded:
            return read(None)
        at_home = self._found_before(lambda tool: not self.capabilities.limits(tool).outward)
        people, known = (
            self._people_said,
            read([*replies.said_before(self.given.history), *at_home]),
        )
        figures = read(people)
        held = {n: figures.get(n) if is_figure(slot_at(slots, n)) else v for n, v in known.items()}
        return {n: v for n, v in held.items() if v is not None and not ungiven({n: v}, people)}

    def _unparroted(self, arguments: Mapping[str, JsonValue], text: str) -> dict[str, JsonValue]:
        """The arguments, with the person's words where the model gave those of an example."""
        usable = self.capabilities.visible_to(self.given.account.caller)
        examples = {bare(said) for one in usable for said in one.examples}
        return {
            name: text if isinstance(value, str) and bare(value) in examples else value
            for name, value in arguments.items()
        }

    def _grounded(self, command: CallTool, before: Sequence[str], alone: bool) -> Command:
        """The call with what was said alone; its form, where that isn't enough to call it with.

        An address that no person gave is asked about.
        """
        text, now = decider.words_of(self.given.message), self.given.situation.now
        if foreign := ungiven(command.arguments, self._people_said):
            return addresses.question(foreign, self.given.situation.locale)
        form = self.capabilities.definition(command.tool)
        if form is None:
            return command
        arguments = self._unparroted(command.arguments, text)
        kept, dropped = grounded_call(form.slots, arguments, text, now, before, alone=alone)
        if any(form.slots[name].required for name in dropped):
            return StartFlow(flow=command.tool, slots=kept)
        return command.replace(arguments=kept)

    def _found_before(self, by: Callable[[str], bool] = lambda _: True) -> list[str]:
        """What values may come from besides: what was found in earlier rounds, by these tools."""
        found = (f for one in self.given.rounds for f in one.findings if f.error is None)
        return [json.dumps(f.result, ensure_ascii=False) for f in found if by(f.tool)]

    @property
    def _people_said(self) -> list[str]:
        own = [line.text for line in self.given.history if line.role == "user"]
        return [*own, self.given.situation.offered_for, decider.words_of(self.given.message)]
