"""What the SDK logs of activities that fail: in a story that is no news."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.exceptions import ApplicationError


class Unforeseen(logging.Filter):
    """Keeps what isn't an error of the house, which a story may want and its outcome tells."""

    def filter(self, record: logging.LogRecord) -> bool:
        """True for what is to be seen."""
        error = record.exc_info[1] if record.exc_info else None
        return not isinstance(error, ApplicationError)


@contextmanager
def kept_down() -> Iterator[None]:
    """Have the SDK's log say on stderr only what nobody foresaw, until the block is left."""
    logger, handler = logging.getLogger("temporalio"), logging.StreamHandler()
    handler.addFilter(Unforeseen())
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates
