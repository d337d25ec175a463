"""Understanding a message by rules: a local activity, CPU only, no model."""

from temporalio import activity

from activities import small_talk
from activities.capabilities import Capabilities
from router.contracts import activities
from router.domain.commands import CallTool
from router.domain.principals import Principal
from router.understanding.reader import Reader


class Understander:
    """Reads messages with the patterns of the flows and tools that are loaded.

    Where there is no model (`alone`) greetings are returned here too: deciding is an activity that
    Temporal writes down, which costs as much as all the rest of such a turn.
    """

    def __init__(self, reader: Reader, capabilities: Capabilities, *, alone: bool = False) -> None:
        self._reader = reader
        self._capabilities = capabilities
        self._alone = alone

    @activity.defn(name=activities.UNDERSTAND.name)
    async def understand(self, given: activities.Understand) -> activities.Understood:
        """What the message means as far as rules can tell."""
        reading = self._reader.read(given.message, given.situation)
        called = [command.tool for command in reading.commands if isinstance(command, CallTool)]
        understood = activities.Understood(
            **dict(reading),
            tools={name: self._capabilities.limits(name) for name in called},
            plainly=self._alone,
        )
        if understood.route is None and self._alone and given.caller is not None:
            return self._greeted(understood, given, given.caller)
        return understood

    def _greeted(
        self, understood: activities.Understood, given: activities.Understand, caller: Principal
    ) -> activities.Understood:
        usable = self._capabilities.visible_to(caller)
        answer = small_talk.answer(given.message.text or "", given.situation, usable)
        if answer is None:
            return understood
        route, commands = answer
        return understood.model_copy(update={"route": route, "commands": commands})
