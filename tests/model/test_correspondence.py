"""What the model says in a few lines of its own, against what it stands for: real databases."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from router.contracts.failures import to_json
from router.domain.errors import DuplicateKey, PermanentToolError
from router.store.database import Database
from router.store.store import Store
from tests.model.ledger import KeptLedger, Ledger

pytestmark = pytest.mark.slow

KEYS = st.sampled_from(["a", "b"])
DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), KEYS, st.sampled_from(["d", "e"])),
        st.tuples(st.sampled_from(["finish", "fail", "release"]), KEYS, st.none()),
    ),
    max_size=8,
)


async def _did(ledger: Any, prefix: str, deed: tuple[str, str, str | None]) -> object:
    name, key, digest = deed
    match name:
        case "begin":
            try:
                known = await ledger.begin(prefix + key, "tool", digest)
            except DuplicateKey:
                return "duplicate"
            return known and (known.status, known.failure)
        case "finish":
            return await ledger.finish(prefix + key, "done")
        case "fail":
            return await ledger.fail(prefix + key, to_json(PermanentToolError("no")))
    return await ledger.release(prefix + key)


async def test_the_models_ledger_answers_as_the_real_one_whatever_is_done_to_it(
    database: Database,
) -> None:
    real, examples = Store(database).ledger, _examples(25)

    for number, deeds in enumerate(examples):
        model = KeptLedger(Ledger())
        for deed in deeds:
            expected = await _did(model, f"{number}:", deed)
            assert await _did(real, f"{number}:", deed) == expected, deeds


def _examples(number: int) -> list[list[tuple[str, str, str | None]]]:
    """Sequences of deeds, the same at every run."""
    drawn: list[list[tuple[str, str, str | None]]] = []

    @settings(max_examples=number, derandomize=True, database=None)
    @given(DEEDS)
    def draw(deeds: list[tuple[str, str, str | None]]) -> None:
        drawn.append(deeds)

    draw()
    return drawn
