"""The index: what is found, for whom, and what of a capability is searched."""

import asyncio
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import JsonValue

from router.domain.principals import Capability
from router.retrieval.encoders import Vectors
from router.retrieval.index import (
    LEXICAL_ONLY,
    LONGEST,
    LONGEST_DETAILED,
    CapabilityIndex,
    IndexChanges,
    card,
)
from router.retrieval.selection import Selection, prompt_tokens
from router.retrieval.vector_cache import RecentVectors, VectorFile
from tests.fakes.encoder import PairsEncoder
from tests.table import each_row
from tests.unit.retrieval.capabilities import BALANCE, LEAVE, OFFICE, PAYSLIP, ROOM, capability


class Index(CapabilityIndex):
    def __init__(self) -> None:
        self.encoder = PairsEncoder()
        super().__init__(self.encoder)


async def indexed(*capabilities: Capability) -> Index:
    """An index of these; what the encoder has encoded for it is forgotten."""
    index = Index()
    await index.update(capabilities)
    index.encoder.encoded.clear()
    return index


@pytest.fixture
async def index() -> Index:
    return await indexed(*OFFICE)


def names(selection: Selection) -> list[str]:
    return [candidate.name for candidate in selection.candidates]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我要请病假", "leave_request"),
        ("年假余额还剩多少", "leave_balance"),
        ("预订一间会议室", "book_room"),
        ("show me my payslip", "payslip"),
    ],
)
async def test_what_a_message_is_for_comes_first(text: str, expected: str, index: Index) -> None:
    found = await index.select(text)
    scores = [candidate.score for candidate in found.candidates]
    assert names(found)[0] == expected
    assert 1 >= scores[0] >= scores[-1] >= 0
    assert scores == sorted(scores, reverse=True)


async def test_without_an_encoder_words_alone_are_searched() -> None:
    index = CapabilityIndex(None)
    await index.update(OFFICE)
    found = await index.select("预订一间会议室")
    assert names(found)[0] == "book_room"
    assert found.notes == (f"{LEXICAL_ONLY}: capabilities aren't encoded",)


async def test_what_the_caller_may_not_use_is_never_found(index: Index) -> None:
    text = "show me my payslip"
    found = await index.select(text, allowed=lambda roles: not roles, always=["payslip"])
    assert set(names(found)) == {one.name for one in OFFICE} - {"payslip"}


async def test_what_no_model_may_choose_is_never_found() -> None:
    index = await indexed(*OFFICE)
    hidden = PAYSLIP.model_copy(update={"by_model": False})
    await index.update([hidden if one.name == "payslip" else one for one in OFFICE])
    found = await index.select("show me my payslip", always=["payslip"])
    assert set(names(found)) == {one.name for one in OFFICE} - {"payslip"}


async def test_what_is_in_play_is_always_included(index: Index) -> None:
    assert "weather" not in names(await index.select("请年假", most=1))
    found = await index.select("我要请病假", most=2, always=["weather"])
    assert set(names(found)) == {"leave_request", "weather"}


async def test_as_many_are_chosen_as_fit_the_budget(index: Index) -> None:
    two = prompt_tokens(LEAVE) + max(prompt_tokens(c) for c in OFFICE)
    assert len(names(await index.select("请年假", budget=two))) == 2
    assert len(names(await index.select("请年假", budget=0))) == 1


async def test_only_what_is_named_is_looked_among(index: Index) -> None:
    found = await index.select("请年假", among=["weather", "book_room", "unheard_of"])
    assert set(names(found)) == {"weather", "book_room"}


async def test_an_update_encodes_only_what_reads_differently(index: Index) -> None:
    weather = capability("weather", "查询空气质量", "Air quality")
    changes = await index.update([LEAVE, BALANCE, ROOM, weather])
    assert changes == IndexChanges(added=0, changed=1, removed=1)
    assert index.encoder.encoded == ["查询空气质量: 查询空气质量", "Air quality: Air quality"]
    assert names(await index.select("空气质量怎么样"))[0] == "weather"
    assert "payslip" not in names(await index.select("show me my payslip"))


async def test_a_change_of_roles_alone_needs_no_encoding_and_counts_at_once(index: Index) -> None:
    secret = BALANCE.model_copy(update={"roles": frozenset({"hr"})})
    assert await index.update([LEAVE, secret, ROOM]) == IndexChanges(0, 0, 2)
    assert index.encoder.encoded == []
    assert "leave_balance" not in names(await index.select("余额", allowed=lambda roles: not roles))


async def test_a_second_start_encodes_messages_alone(tmp_path: Path) -> None:
    memory, encoder = VectorFile(tmp_path / "vectors.db"), PairsEncoder()
    await CapabilityIndex(PairsEncoder(), memory).update(OFFICE)
    for _ in range(2):
        index = CapabilityIndex(encoder, memory)
        await index.update(OFFICE)
        assert encoder.encoded == []
        await index.select("我要请年假")
        await index.select("我要请年假")
        assert encoder.encoded == ["我要请年假"]
        encoder.encoded.clear()


async def test_an_encoder_that_fails_on_a_message_leaves_the_words(index: Index) -> None:
    index.encoder.broken = True
    found = await index.select("预订会议室")
    assert names(found)[0] == "book_room"
    assert found.notes[0].startswith(LEXICAL_ONLY)
    assert found.verdict == "clear"
    assert (await index.select("zzz")).verdict == "none"


async def test_an_encoder_that_fails_on_an_update_leaves_the_words_until_it_is_back() -> None:
    index = Index()
    index.encoder.broken = True
    await index.update(OFFICE)
    found = await index.select("预订会议室")
    assert names(found)[0] == "book_room"
    assert found.notes[0].startswith(LEXICAL_ONLY)
    index.encoder.broken = False
    await index.update(OFFICE)
    assert (await index.select("预订会议室")).notes == ()


async def test_messages_are_compared_without_encoding_the_background_again(index: Index) -> None:
    texts = ["我要请病假", "我要请年假", "预订会议室"]
    points = await index.points(texts)
    assert index.encoder.encoded == texts
    assert points is not None
    alike = points @ points.T
    assert np.diag(alike) == pytest.approx(1)
    assert alike[0, 1] > alike[0, 2]


async def test_messages_that_can_not_be_encoded_are_not_compared(index: Index) -> None:
    index.encoder.broken = True
    assert await index.points(["我要请病假"]) is None
    assert await CapabilityIndex(None).points(["我要请病假"]) is None


async def test_what_is_not_encoded_is_found_by_its_words(index: Index) -> None:
    index.encoder.broken = True
    await index.update([*OFFICE, capability("printer", "打印机报修", "Report a broken printer")])
    index.encoder.broken = False
    found = await index.select("打印机报修")
    assert names(found)[0] == "printer"
    assert found.notes == (f"{LEXICAL_ONLY} for 1 that aren't encoded yet",)
    assert names(await index.select("预订一间会议室"))[0] == "book_room"


@each_row("capabilities", [[], OFFICE])
async def test_an_empty_index_and_a_caller_who_may_nothing_get_nothing(capabilities: Any) -> None:
    found = await (await indexed(*capabilities)).select("请年假", allowed=lambda _: False)
    assert (found.candidates, found.verdict) == ((), "none")


async def test_one_that_has_no_examples_is_not_lost_among_those_that_have() -> None:
    rich = [
        capability(f"topic_{i}", f"主题{i}", examples=tuple(f"{word}{i}" for word in "甲乙丙丁"))
        for i in range(8)
    ]
    assert names(await (await indexed(*rich, ROOM)).select("预订会议室"))[0] == "book_room"


async def test_of_an_endless_message_only_both_ends_are_encoded(index: Index) -> None:
    await index.select("预订会议室" + "，然后呢" * 2000 + "谢谢")
    (encoded,) = index.encoder.encoded
    assert encoded.startswith("预订会议室")
    assert encoded.endswith("谢谢")
    assert len(encoded) < 1100


class SlowEncoder(PairsEncoder):
    """Encodes a message only once something else has happened."""

    def __init__(self) -> None:
        super().__init__()
        self.may_go_on = asyncio.Event()

    async def queries(self, texts: Sequence[str]) -> Vectors:
        if texts == ["预订会议室"]:
            await self.may_go_on.wait()
        return await super().queries(texts)


async def test_what_takes_the_place_of_an_allowed_one_meanwhile_is_not_found() -> None:
    encoder = SlowEncoder()
    index = CapabilityIndex(encoder)
    await index.update([ROOM])
    selecting = asyncio.create_task(index.select("预订会议室", allowed=lambda roles: not roles))
    await asyncio.sleep(0)
    await index.update([PAYSLIP])
    encoder.may_go_on.set()
    assert names(await selecting) == []


class SlowMemory(RecentVectors):
    """A file that takes its time to be made, which is once there is a background to search."""

    blocks = True

    def __init__(self) -> None:
        super().__init__()
        self.making, self.made = threading.Event(), threading.Event()

    def keep(self, vectors: Mapping[bytes, Vectors]) -> None:
        if not vectors:
            self.making.set()
            assert self.made.wait(10)
        super().keep(vectors)


async def test_however_many_there_are_they_can_be_searched_before_any_is_encoded() -> None:
    memory = SlowMemory()
    index = CapabilityIndex(PairsEncoder(), memory)
    many = [*OFFICE, *(capability(f"get_{n}", en=f"Number {n}") for n in range(40))]
    updating = asyncio.create_task(index.update(many))
    assert await asyncio.to_thread(memory.making.wait, 10)
    selection = await index.select("Reserve a meeting room")
    memory.made.set()
    await updating
    assert names(selection)[0] == "book_room"


async def test_kinds_may_share_a_name() -> None:
    policies = capability("search", "查制度", "Policies")
    people = capability("search", "查人", "People", kind="skill")
    found = await (await indexed(policies, people)).select("查人")
    assert [(c.kind, c.name) for c in found.candidates] == [("skill", "search"), ("tool", "search")]


@each_row(
    ("found", "passages"),
    [
        (LEAVE, ("请假申请: 请假申请", "Ask for leave: Ask for leave")),
        (capability("x", "same", "same"), ("same: same",)),
        (capability("get_leaveBalance"), ("get leave Balance: ",)),
    ],
)
def test_each_language_has_a_passage(found: Capability, passages: tuple[str, ...]) -> None:
    assert card(found).passages == passages


def test_a_book_of_a_description_is_cut() -> None:
    assert len(card(capability("x", "长" * 9999, "long")).passages[0]) == LONGEST


def test_words_come_from_everything_and_details_alone_tell_of_parameters() -> None:
    properties: dict[str, JsonValue] = {
        "destination": {"description": "目的地"},
        "seat": {"enum": ["window", "aisle"]},
        "legs": {"items": {"properties": {"airport": {"type": "string"}}}},
        "note": {"anyOf": [{"description": "anything else"}, {"type": "null"}]},
    }
    found = card(capability("trip", "出差", "Trip", parameters={"properties": properties}))
    assert {"destination", "目的", "window", "airport", "anyth"} <= set(found.words)
    assert not any("目的地" in passage for passage in found.passages)
    assert found.details == (
        "出差: 出差 destination; 目的地; seat; window; aisle; legs; airport; note; anything else",
        "Trip: Trip destination; 目的地; seat; window; aisle; legs; airport; note; anything else",
    )


def test_what_has_no_parameters_has_no_details_and_a_book_of_them_is_cut() -> None:
    assert card(ROOM).details == ()
    properties: dict[str, JsonValue] = {f"field_{n}": {"description": "长" * 50} for n in range(99)}
    found = card(capability("x", "一", "one", parameters={"properties": properties}))
    assert [len(one) for one in found.details] == [LONGEST_DETAILED] * 2


async def test_a_request_that_names_a_parameter_alone_finds_its_tool() -> None:
    properties: dict[str, JsonValue] = {"seat": {"description": "靠窗座位偏好"}}
    trip = capability("trip", "出差", "Trip", parameters={"properties": properties})
    assert names(await (await indexed(*OFFICE, trip)).select("靠窗座位"))[0] == "trip"


@each_row(
    ("found", "encoded"),
    [
        (capability("describeInstances", "查看实例", "查看实例"), ("describe Instances",)),
        (capability("describeInstances", "查看实例", "List instances"), ()),
        (capability("describeInstances", "List instances", "List instances"), ()),
        (capability("查看实例", "查看实例", "查看实例"), ()),
        (capability("describeInstances", "查看实例", "查看实例", examples=("有哪些实例",)), ()),
    ],
)
def test_an_identifier_is_encoded_where_it_alone_is_in_another_language(
    found: Capability, encoded: tuple[str, ...]
) -> None:
    assert card(found).names == encoded


def test_a_schema_that_is_nonsense_or_without_bottom_is_survived() -> None:
    deep: dict[str, JsonValue] = {}
    for _ in range(50):
        deep = {"properties": {"inner": deep}}
    nonsense: dict[str, JsonValue] = {"properties": ["no"], "enum": 3, "anyOf": {}}
    for parameters in (deep, nonsense):
        assert card(capability("x", "一", "one", parameters=parameters)).words
