"""No statement of the store reads all of a table that grows, however it is asked."""

import re

import pytest

from router.store.database import Database
from router.store.store import Store
from tests.past import Past, fill
from tests.plans import scans, statements
from tests.store_calls import Calls, functions

COUNTED = r"^SELECT count\(\*\) AS \w+ FROM \w+$"
KNOWN = {
    "answers_count": r"FROM kept_answers",
    "consistency_cut_off": r"FROM conversations JOIN event_log",
    "consistency_effects": r"FROM effects",
    "consistency_stopped_mailboxes": r"FROM mailboxes",
    "consistency_stray_approvals": r"FROM approvals LEFT OUTER JOIN flow_runs",
    "flow_versions_flows": r"FROM flow_versions",
    "mailboxes_oldest": r"FROM mailboxes",
    "person_erase": r"^UPDATE audit_trail",
    "retention_check": COUNTED,
    "retention_expire": COUNTED,
}
"""What reads all that a tenant has of a table all the same. Answers are kept for some days and
counted by nobody but tests; what `reconcile` compares it compares all of, a page at a time;
erasing looks into every line that operators left, who leave few; how many rows there are of a kind
PostgreSQL estimates, above a hundred thousand."""
FEW, MANY = 5_000, 100_000
LONGEST = 400
"""Characters of a statement that are shown: some have hundreds of ids."""


@pytest.fixture
async def calls(database: Database, store: Store, request: pytest.FixtureRequest) -> Calls:
    past = Past(request.param)
    await fill(database, past)
    return Calls(database, store, past)


async def read_whole(database: Database, calls: Calls) -> list[str]:
    """What statements read too much of, by call; each as it was planned once that was made."""
    found: list[str] = []
    for name, call in calls.each().items():
        with statements(database) as seen:
            await call()
        plans = {said: await scans(database, (said, given)) for said, given in seen}
        for said, lines in plans.items():
            asked = " ".join(said.split())
            if name not in KNOWN or not re.search(KNOWN[name], asked):
                found += [f"{name}: {line}: {asked[:LONGEST]}" for line in lines]
    return found


async def test_every_function_of_the_store_has_its_plans_looked_at(
    database: Database, store: Store
) -> None:
    assert functions(store) == Calls(database, store, Past(10)).each().keys()


@pytest.mark.slow
@pytest.mark.parametrize("calls", [FEW], indirect=True, ids=["few"])
async def test_no_statement_reads_all_of_a_table_that_grows(
    database: Database, calls: Calls
) -> None:
    found = await read_whole(database, calls)
    assert not found, "\n".join(found)


@pytest.mark.slow
@pytest.mark.parametrize("calls", [MANY], indirect=True, ids=["many"])
async def test_nor_does_one_where_there_are_a_hundred_thousand_conversations(
    database: Database, calls: Calls
) -> None:
    found = await read_whole(database, calls)
    assert not found, "\n".join(found)
