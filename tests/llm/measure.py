"""Ask a real model about some of the labelled requests and print what it decided.

For trying wording, in less time than all of the tests take:

    python -m tests.llm.measure --how json_schema --half tuned --group tool --group flow
"""

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from router.llm.types import How
from tests.llm import labelled, report
from tests.llm.desk import Outcome, desk
from tests.llm.fetching import LARGER, SMALL
from tests.llm.labelled import Labelled
from tests.llm.local_model import LocalModel


async def measured(
    model: LocalModel, how: How, labels: Sequence[Labelled], data: Path
) -> list[Outcome]:
    """Every request's outcome, a language after the other: each has a prompt of its own.

    Before each comes one that isn't counted and fills the server's cache.
    """
    outcomes = []
    async with desk(model.url, model.name, how, data) as asking:
        for lang in ("zh", "en"):
            spoken = [label for label in labels if label.lang == lang]
            for number, label in enumerate(spoken[:1] + spoken):
                outcome = await asking.ask(label)
                print(report.line(outcome) if number else "(cold)", flush=True)
                outcomes += [outcome] if number else []
    return outcomes


def main() -> None:
    """Measure what the command line names."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--how", choices=["functions", "json_schema"], action="append")
    options.add_argument("--half", choices=["tuned", "kept"])
    options.add_argument("--group", action="append")
    options.add_argument("--model", choices=["small", "larger"], default="larger")
    chosen = options.parse_args()
    labels = [
        label
        for label in labelled.load()
        if chosen.half in (None, label.half) and (not chosen.group or label.group in chosen.group)
    ]
    weights = LARGER if chosen.model == "larger" else SMALL
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        with LocalModel(weights, data / "server.log") as model:
            ways: list[How] = chosen.how or ["functions", "json_schema"]
            found = {how: asyncio.run(measured(model, how, labels, data)) for how in ways}
    print(report.table(found))
    for how, outcomes in found.items():
        print(f"{how}: {report.sums(outcomes)}")


if __name__ == "__main__":
    main()
