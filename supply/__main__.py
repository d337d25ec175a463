"""Says what is wrong with what intent-router is made of, and makes its lists.

* `python -m supply check`: what `make check` asks; ends with 1 where something is wrong;
* `python -m supply lock`: the locks, for what `pyproject.toml` asks;
* `python -m supply lock --upgrade [NAME …]`: all of newer versions, or these alone.
"""

import argparse
import sys

from supply import images, licences, locks
from supply.environment import installed
from supply.policy import ROOT, kept

SHIPPED = ("build", "runtime", "image")
"""The locks of what others than developers install."""
CONTAINERS = ("Dockerfile", "docker-compose.yml")
"""The files that name images."""


def check() -> int:
    """Print what is wrong, a line for each; 1 where anything is."""
    policy, environment = kept(), installed()
    held = locks.held()
    versions = {one.name: one.version for one in environment}
    shipped = {pin.name for lock in SHIPPED for pin in held[lock]}
    known = {pin.name for lock in held.values() for pin in lock}
    found = [
        *locks.problems(locks.inputs(locks.project(), policy), held, versions),
        *licences.problems(environment, policy.allowed, policy.licences, shipped, known),
        *images.problems({name: (ROOT / name).read_text() for name in CONTAINERS}, policy.images),
    ]
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    print(f"{len(environment)} packages, {len(held)} locks: {len(found)} problems")
    return min(len(found), 1)


def lock(newer: list[str] | None) -> int:
    """Make the locks, and print what is of another version now."""
    before = locks.held()
    status = locks.make(kept(), [] if newer is None else newer or None)
    print(*locks.moved(before, locks.held()) or ["nothing has moved"], sep="\n")
    return status


def main() -> int:
    """Do as the arguments say; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m supply")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="say what is wrong")
    asked = commands.add_parser("lock", help="make the locks")
    asked.add_argument("--upgrade", nargs="*", metavar="NAME", help="take newer versions")
    told = parser.parse_args()
    return check() if told.command == "check" else lock(told.upgrade)


if __name__ == "__main__":
    sys.exit(main())
