"""`python -m router` is `intent-router`."""

from router.cli import main

main()
