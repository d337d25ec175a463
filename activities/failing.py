"""How an activity fails: the house's errors become Temporal's failures at its border."""

from collections.abc import Iterator
from contextlib import contextmanager

from router.contracts.failures import to_failure
from router.domain.errors import RouterError


@contextmanager
def temporal_failures() -> Iterator[None]:
    """Raise within an activity what `router.contracts.failures` makes of an error of ours.

    Anything else passes as it is, which Temporal takes for a fault that another try may mend.
    """
    try:
        yield
    except RouterError as error:
        raise to_failure(error) from error
