"""A process ends whether or not its collector is there."""

import os
import socket
import subprocess
import sys

STARTED = """
import os, time
from router.telemetry.tracing import span
from router.telemetry.tracing import LAST_SECONDS, traced
with traced("test", os.environ, with_content=False) as plugins:
    with span("one"):
        assert len(plugins) == 1
    began = time.monotonic()
print(time.monotonic() - began < LAST_SECONDS + 1)
"""


def test_a_collector_that_never_answers_holds_up_nobodys_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ran = subprocess.run(
            [sys.executable, "-c", STARTED],
            env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert ran.stdout == "True\n"
