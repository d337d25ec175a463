"""Running a command in this process, as the shell would see it end."""

from tests.unit.cli.conftest import elsewhere, run

__all__ = ["elsewhere", "run"]
