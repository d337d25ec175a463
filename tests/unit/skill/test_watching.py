"""Skills that follow their folders."""

import os
import shutil
from pathlib import Path

import pytest

from router.domain.errors import DefinitionError
from router.skill.loader import WatchedSkills
from tests.unit.skill.folders import HEAD, beside, write


def touched(file: Path) -> None:
    """As if it were written later, however coarse the clock of the file system is."""
    stamp = file.stat().st_mtime_ns + 1_000_000_000
    os.utime(file, ns=(stamp, stamp))


def instructions(skills: WatchedSkills) -> dict[str, str]:
    """What has changed, by name; fails where nothing has."""
    loaded = skills.reload()
    assert loaded is not None
    return {skill.name: skill.instructions for skill in loaded.catalog}


@pytest.fixture
def skills(tmp_path: Path) -> WatchedSkills:
    write(tmp_path)
    skills = WatchedSkills(tmp_path)
    skills.load()
    return skills


def test_what_is_new_edited_or_gone_is_followed(tmp_path: Path, skills: WatchedSkills) -> None:
    assert skills.reload() is None
    other = write(tmp_path, "name: other\ndescription: d", "Do the other.", "other")
    assert instructions(skills) == {"trip-planner": "Plan the trip.", "other": "Do the other."}
    assert skills.reload() is None
    touched(write(tmp_path, body="Plan it well.") / "SKILL.md")
    assert instructions(skills)["trip-planner"] == "Plan it well."
    shutil.rmtree(other)
    assert instructions(skills) == {"trip-planner": "Plan it well."}


def test_a_file_beside_the_instructions_counts_too(tmp_path: Path, skills: WatchedSkills) -> None:
    file = beside(tmp_path / "trip-planner", "references/a.md", "one")
    first = skills.reload()
    assert first is not None
    file.write_text("two")
    touched(file)
    second = skills.reload()
    assert second is not None
    (before,), (after,) = first.contents.values(), second.contents.values()
    assert (before, after) == (b"one", b"two")


def test_a_broken_one_stays_as_it_was_and_is_logged_once_while_others_change(
    tmp_path: Path, skills: WatchedSkills, caplog: pytest.LogCaptureFixture
) -> None:
    touched(write(tmp_path, "name: trip-planner", "Broken.") / "SKILL.md")
    write(tmp_path, "name: other\ndescription: d", "Do the other.", "other")
    write(tmp_path, "name: never\ndescription: [", "Never.", "never")
    assert instructions(skills) == {"trip-planner": "Plan the trip.", "other": "Do the other."}
    assert skills.reload() is None
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert len(said) == 2
    assert "never isn't used: " in said[0]
    assert "stays as it was: " in said[1]
    assert "SKILL.md:2: there is no description" in said[1]
    mended = write(tmp_path, HEAD, "Mended.") / "SKILL.md"
    touched(mended)
    touched(mended)
    assert instructions(skills)["trip-planner"] == "Mended."


def test_what_could_not_be_taken_up_is_found_again(skills: WatchedSkills) -> None:
    assert skills.reload() is None
    skills.forget()
    assert instructions(skills) == {"trip-planner": "Plan the trip."}
    assert skills.reload() is None


def test_a_broken_one_is_refused_at_the_start(tmp_path: Path) -> None:
    write(tmp_path, "name: trip-planner")
    with pytest.raises(DefinitionError, match="there is no description"):
        WatchedSkills(tmp_path).load()


async def test_changes_are_yielded_as_they_are_seen(tmp_path: Path, skills: WatchedSkills) -> None:
    write(tmp_path, "name: other\ndescription: d", name="other")
    async for loaded in skills.changes(0.001):
        assert "other" in loaded.catalog
        break
