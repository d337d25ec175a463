"""Files of skills, kept by what is in them."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from router.store.database import Database
from router.store.files import SkillFiles
from router.store.store import Store

A, B = {"a" * 64: b"one"}, {"b" * 64: b"\x00\xff"}
PAST, FUTURE = (datetime.now(UTC) + timedelta(days=days) for days in (-30, 1))


@pytest.fixture
def files(database: Database) -> SkillFiles:
    return Store(database).skill_files


async def test_what_is_kept_is_found_by_its_digest(files: SkillFiles) -> None:
    await files.keep({})
    await files.keep(A | B)
    await files.keep(A)
    assert await files.find(["a" * 64, "b" * 64, "c" * 64]) == A | B
    assert await files.find([]) == {}


async def test_several_workers_may_keep_the_same_at_once(files: SkillFiles) -> None:
    await asyncio.gather(*(files.keep(A | B) for _ in range(8)))
    assert await files.find(["a" * 64]) == A


async def test_only_what_is_out_of_use_for_so_long_is_forgotten(files: SkillFiles) -> None:
    await files.keep(A | B)
    assert await files.tidy([], PAST) == 0
    assert await files.find([*A, *B]) == A | B
    assert await files.tidy([], FUTURE) == 2
    assert await files.find([*A, *B]) == {}


async def test_what_is_in_use_counts_from_today(files: SkillFiles, database: Database) -> None:
    await files.keep(A | B)
    between = datetime.now(UTC)
    assert await files.tidy(list(A), between) == 1
    assert await files.find([*A, *B]) == A
