"""`python -m router.cli.schemas` writes the schemas anew, after a change of what files may hold."""

from router.cli.schemas.building import build

build()
