"""Understanding a message by rules: a local activity, CPU only, no model."""

from temporalio import activity

from router.contracts import activities
from router.understanding.reader import Reader
from router.understanding.reading import Reading


class Understander:
    """Reads messages with the patterns of the flows that are loaded."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    @activity.defn(name=activities.UNDERSTAND.name)
    async def understand(self, given: activities.Understand) -> Reading:
        """What the message means as far as rules can tell."""
        return self._reader.read(given.message, given.situation)
