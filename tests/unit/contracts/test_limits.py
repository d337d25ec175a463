"""Whatever size a value has, Temporal is sent one that it accepts."""

import json
from typing import Any

from temporalio.common import SearchAttributeKey

from router.contracts import start_options
from router.contracts.limits import MAX_KEYWORD_CHARS, cut_keyword, cut_keyword_list, fit_attribute
from router.domain.principals import Principal
from router.domain.summaries import MAX_DETAILS_BYTES, cut_summary, cut_text
from tests.table import each_row

ATTRIBUTE_LIMIT_BYTES, SUMMARY_LIMIT_BYTES = 2_048, 400
HUGE = "字😀a" * 20_000
KEYWORDS = [
    value
    for value in vars(start_options).values()
    if isinstance(value, SearchAttributeKey) and value.name != "Assignee"
]


def encoded(value: object) -> int:
    """The bytes that the server counts of an attribute, as the SDK encodes it."""
    return len(json.dumps(value, separators=(",", ":")).encode())


@each_row("key", KEYWORDS, ids=lambda key: key.name)
@each_row("value", [HUGE, "a" * 300, "字" * 300, "😀" * 300, "\\" * 300, ""])
def test_every_keyword_is_cut_to_what_temporal_and_postgresql_take(key: Any, value: str) -> None:
    sent = fit_attribute(key.value_set(value)).value
    assert isinstance(sent, str)
    assert value.startswith(sent)
    assert len(sent) <= MAX_KEYWORD_CHARS
    assert encoded(sent) < ATTRIBUTE_LIMIT_BYTES
    assert bool(sent) == bool(value)


@each_row(
    ("people", "listed"),
    [
        ([f"person-{n:04}" for n in range(40)], 40),
        ([f"person-{n:04}" for n in range(500)], 135),
        (["字" * 60] * 500, 5),
        ([HUGE] * 500, 1),
        ([], 0),
    ],
)
def test_as_many_assignees_are_listed_as_fit(people: list[str], listed: int) -> None:
    sent = fit_attribute(start_options.ASSIGNEE.value_set(people)).value
    assert isinstance(sent, list)
    assert len(sent) == listed
    assert sent == [cut_keyword(person) for person in people[:listed]]
    assert encoded(sent) < ATTRIBUTE_LIMIT_BYTES


def test_a_run_starts_with_attributes_that_fit() -> None:
    requester = Principal(id=HUGE, name="Ann", tenant=HUGE)
    sent = start_options.of_run(HUGE, requester, HUGE)
    assert {pair.key.name for pair in sent} == {
        "FlowName",
        "Requester",
        "ConversationId",
        "Tenant",
    }
    assert all(encoded(pair.value) < ATTRIBUTE_LIMIT_BYTES for pair in sent)


@each_row("summary", [HUGE, "x" * 1_000, "审批" * 500])
def test_a_summary_is_cut_with_an_ellipsis(summary: str) -> None:
    sent = cut_summary(summary) or ""
    assert sent.endswith("…")
    assert summary.startswith(sent[:-1])
    # Payloads have metadata, and encryption adds a hundred bytes or so.
    assert len(sent.encode()) < SUMMARY_LIMIT_BYTES - 150


@each_row("text", ["", "annual leave", "年假"])
def test_what_fits_is_sent_as_it_is(text: str) -> None:
    assert cut_text(text, MAX_DETAILS_BYTES) == text
    assert cut_summary(text) == text
    assert cut_keyword(text) == text
    assert cut_keyword_list([text]) == [text]
    assert cut_summary(None) is None
