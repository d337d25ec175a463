"""Commands are run as those of the core are."""

from tests.unit.cli.conftest import elsewhere, model, run, vectors

__all__ = ["elsewhere", "model", "run", "vectors"]
