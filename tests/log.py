"""What a long test does, in words, each line with the seconds that it took."""

import time
from dataclasses import dataclass, field


@dataclass
class Log:
    """Lines on stdout."""

    since: float = field(default_factory=time.monotonic)

    def says(self, words: str) -> None:
        """Print what is done by now."""
        now = time.monotonic()
        print(f"{now - self.since:6.0f} s  {words}", flush=True)
        self.since = now
