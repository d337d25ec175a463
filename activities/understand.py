"""Understanding a message by rules: a local activity, CPU only, no model."""

from temporalio import activity

from activities.capabilities import Capabilities
from router.contracts import activities
from router.domain.commands import CallTool
from router.understanding.reader import Reader


class Understander:
    """Reads messages with the patterns of the flows and tools that are loaded."""

    def __init__(self, reader: Reader, capabilities: Capabilities) -> None:
        self._reader = reader
        self._capabilities = capabilities

    @activity.defn(name=activities.UNDERSTAND.name)
    async def understand(self, given: activities.Understand) -> activities.Understood:
        """What the message means as far as rules can tell."""
        reading = self._reader.read(given.message, given.situation)
        called = [command.tool for command in reading.commands if isinstance(command, CallTool)]
        return activities.Understood(
            **dict(reading), tools={name: self._capabilities.limits(name) for name in called}
        )
