"""A real model behind a real server, as a process of its own on loopback."""

import os
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.e2e.house import free_ports
from tests.llm import fetching
from tests.llm.fetching import Weights

HERE = Path(__file__).parent
STOPPED_WITHIN = 15


@dataclass
class LocalModel:
    """Serves while it is entered; `url` is what a client takes for its base."""

    weights: Weights
    log: Path
    takes_functions: bool = True
    port: int = field(default_factory=lambda: free_ports(1)[0])
    process: "subprocess.Popen[str] | None" = None
    started_in: float = 0.0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def name(self) -> str:
        return self.weights.name

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Self:
        """Serve, on the same port as before where it was killed."""
        began = time.monotonic()
        given = [str(fetching.weights(self.weights)), self.name, str(self.port)]
        given += [str(HERE / "chat.jinja")] * self.takes_functions
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [str(fetching.engine()), str(HERE / "serve.py"), *given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Threads that spin while they wait slow each other down tenfold on busy cores.
                env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            )
        self._await_ready(self.process)
        self.started_in = time.monotonic() - began
        return self

    def kill(self) -> None:
        """End it at once, in the middle of whatever it says."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOPPED_WITHIN)

    def _await_ready(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "ready":
                return
        raise AssertionError(
            f"{self.name} ended with {process.wait()}: {self.log.read_text()[-2000:]}"
        )
