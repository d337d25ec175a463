"""What the tests of authors' work run in child processes."""

from router.extensions.authoring.flow_examination import Examination
from tests.unit.isolation.jobs import tell_and_wait


def wait_instead_of_examining(_: str, address: str, *__: object) -> Examination:
    """Stand in for an examination of a text, which is an address to tell and wait."""
    tell_and_wait(address)
    raise AssertionError
