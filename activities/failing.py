"""How an activity fails: the house's errors become Temporal's failures at its border."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any

from router.contracts.failures import to_failure
from router.domain.errors import RouterError, TransientToolError
from router.domain.texts import Localised


@contextmanager
def temporal_failures() -> Iterator[None]:
    """Raise within an activity what `router.contracts.failures` makes of an error of ours.

    Anything else passes as it is, which Temporal takes for a fault that another try may mend.
    """
    try:
        yield
    except RouterError as error:
        raise to_failure(error) from error


def unforeseen(
    error: Exception,
    name: str,
    title: str,
    logger: "logging.Logger | logging.LoggerAdapter[Any]",
) -> TransientToolError:
    """What people are told of an error in a tool that no tool raises on purpose.

    Its own words are for whoever looks after the tool, and may hold anything: they go to the
    log, with the traceback, under a reference that people are told in their place. `title` is
    the tool's in Chinese. Another try may help.
    """
    reference = token_hex(4)
    logger.error("%s failed unexpectedly, reference %s", name, reference, exc_info=error)
    return TransientToolError(
        Localised(
            zh=f"“{title}”意外出错，原因在日志里，编号 {reference}",
            en=f"{name} failed unexpectedly; the log says why, under the reference {reference}",
        )
    )
