"""What the store takes in a house with a past: 100,000 conversations, 20,000 runs, and all else.

The rows are made, not talked (`tests/past.py`), the functions called as turns, lists, upkeep and
operators call them (`tests/store_calls.py`), on both databases: milliseconds of the median call,
beside the same in a house with a twentieth of it. Some are several statements; what can be done
once alone, such as erasing somebody, is done once. `tests/integration/store/test_plans.py` holds
that no statement reads all of a table that grows.

    python bench/large_tables.py [--conversations 5000 100000]
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from uuid import uuid4

from router.store.database import Database
from router.store.store import Store
from router.store.tables import ROUTER
from tests.past import Past, fill
from tests.postgres import make_database, postgres_server
from tests.store_calls import Calls

SIZES = (5_000, 100_000)
REPEATED = 5
ONCE = ("retention_check", "retention_expire", "person_holdings", "person_erase")
SHOWN = {
    "a turn": ("log_append", "log_untold", "log_since", "log_turn", "runs_publish"),
    "budgets": ("spending_take", "spending_of_day", "spending_lines"),
    "lists": (
        *("conversations_owned_by", "log_previews", "runs_listed", "runs_waiting_for"),
        *("runs_decided_by", "runs_shown_before", "routed_listed", "trail_listed"),
    ),
    "house": ("runs_standings", "runs_waiting", "mailboxes_claim", "mailboxes_oldest"),
    "prompts": ("prompt_outcomes_counted",),
    "upkeep": ONCE,
}


async def measured(url: str, conversations: int) -> dict[str, float]:
    """Milliseconds by function, and of filling the tables."""
    database = Database(url)
    await database.migrate(ROUTER)
    store, past, found = Store(database), Past(conversations), {}
    began = time.perf_counter()
    await fill(database, past)
    found["fill"] = 1000 * (time.perf_counter() - began)
    calls = Calls(database, store, past).each()
    for names in SHOWN.values():
        for name in names:
            took = []
            for _ in range(1 if name in ONCE or name == "mailboxes_claim" else REPEATED):
                began = time.perf_counter()
                await calls[name]()
                took.append(1000 * (time.perf_counter() - began))
            if name == "runs_publish":
                await calls["mailboxes_open"]()
                await calls["log_append"]()
            found[name] = statistics.median(took)
    await store.aclose()
    await database.dispose()
    return found


async def columns(sizes: Sequence[int]) -> dict[tuple[str, int], dict[str, float]]:
    found = {}
    with postgres_server() as server, tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            found["sqlite", size] = await measured(f"sqlite:///{Path(folder)}/{size}.db", size)
            url = await make_database(server, f"large_{uuid4().hex[:8]}")
            found["postgresql", size] = await measured(url, size)
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--conversations", type=int, nargs="+", default=SIZES)
    found = asyncio.run(columns(options.parse_args().conversations))
    ordered = sorted(found)
    print(f"{'ms':30}" + "".join(f"{database:>13}" for database, _ in ordered))
    print(f"{'conversations':30}" + "".join(f"{size:>13,}" for _, size in ordered))
    for kind, names in SHOWN.items():
        print(kind)
        for name in names:
            print(f"  {name:28}" + "".join(f"{found[column][name]:>13.1f}" for column in ordered))
    print(f"{'to fill, s':30}" + "".join(f"{found[c]['fill'] / 1000:>13.1f}" for c in ordered))


if __name__ == "__main__":
    main()
