"""Jobs of prompts that extensions add."""

from pathlib import Path

import pytest

from router.extension import Extension, ExtensionConflict, PromptJob
from router.routing.prompts import JOBS, Prompts, ShippedPrompts
from router.runtime.prompts import PromptJobTable
from tests.table import each_row


class Badges(Extension):
    """An extension whose jobs have these names, with their prompts in one folder."""

    def __init__(self, folder: Path, *names: str) -> None:
        self.folder, self.names = folder, names

    def prompt_jobs(self) -> list[PromptJob]:
        return [PromptJob(name, self.folder, self.folder, "badges:Case") for name in self.names]


def write_prompt(folder: Path, version: str) -> None:
    for locale in ("zh", "en"):
        (folder / f"{version}.{locale}.md").write_text(f"{version} in {locale}")


def test_a_job_of_an_extension_has_prompts_as_those_of_the_core_have(tmp_path: Path) -> None:
    write_prompt(tmp_path, "badge-1")
    table = PromptJobTable()
    own = tmp_path / "own"
    own.mkdir()
    write_prompt(own, "badge-2")

    table.add_extension(Badges(tmp_path, "badge"))
    prompts = Prompts.load(own, {"badge-1": 1}, ShippedPrompts.load(table.jobs))

    assert prompts.jobs == (*JOBS, "badge")
    assert prompts.of("badge", "c1", "en", "default").text == "badge-1 in en"
    assert prompts.of_job("badge") == ["badge-1", "badge-2"]
    assert [prompts.is_shipped(each) for each in ("badge-1", "badge-2")] == [True, False]


def test_without_the_extension_its_prompts_are_no_prompts(tmp_path: Path) -> None:
    write_prompt(tmp_path, "badge-2")

    assert Prompts.load(tmp_path).of_job("badge") == []


@each_row(
    ("names", "words"),
    [
        (("router",), "there is a job of prompts 'router' already"),
        (("badge", "badge"), "there is a job of prompts 'badge' already"),
        (("lock",), "lock-1 has no text in en"),
        (("door",), "write door-1.zh.md"),
    ],
)
def test_a_job_that_cant_be_used_is_refused_with_all_of_its_extension(
    tmp_path: Path, names: tuple[str, ...], words: str
) -> None:
    write_prompt(tmp_path, "badge-1")
    (tmp_path / "lock-1.zh.md").write_text("only Chinese")
    table = PromptJobTable()

    with pytest.raises(ExtensionConflict, match=words):
        table.add_extension(Badges(tmp_path, *names))

    assert table.jobs == []
