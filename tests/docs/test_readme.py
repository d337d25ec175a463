"""What the two READMEs have people try, comes to what they promise."""

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.docs.snippets import ROOT, snippets_of
from tests.docs.walk import DESK, lines_of
from tests.unit.cli.conftest import Run, run  # noqa: F401 - a fixture

READMES = {"README.md": "frank", "README.zh-CN.md": "alice"}
_PROMISE = re.compile(r"^\| `(?P<said>[^`]+)` \| .*`(?P<target>\w+)` \|$", re.MULTILINE)


def steps_of(page: str) -> Iterator[dict[str, Any]]:
    """Its dialogue as the steps of a story."""
    (dialogue,) = [s for s in snippets_of(ROOT / page) if s.language == "dialogue"]
    for who, what in lines_of(dialogue):
        if who == DESK:
            yield {"bot": what}
        elif what.startswith("("):
            yield {"approver": {who: what.strip("()")}}
        else:
            yield {"user": what}


@pytest.mark.parametrize("page", READMES)
def test_what_there_is_to_try_goes_where_it_is_said_to_go(
    run: Run,  # noqa: F811
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    promises = _PROMISE.findall((ROOT / page).read_text(encoding="utf-8"))
    assert len(promises) == 5
    asked = "\n".join(said for said, _ in promises).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(asked)))
    answers = run("route", "-", "--user", READMES[page]).out.splitlines()
    for (said, target), answer in zip(promises, answers, strict=True):
        decision = json.loads(answer)["decision"]
        assert target in {decision["kind"], decision.get("target")}, said


@pytest.mark.parametrize("page", READMES)
def test_its_dialogue_goes_as_printed(
    run: Run,  # noqa: F811
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    story = [{"story": page, "user": READMES[page], "steps": list(steps_of(page))}]
    file = tmp_path / "leave_request.yaml"
    file.write_text(json.dumps(story, ensure_ascii=False), encoding="utf-8")
    outcome = run("flows", "test", str(file))
    assert outcome.status == 0, outcome.out + outcome.err


@pytest.mark.parametrize("page", READMES)
def test_it_is_read_in_two_minutes(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```|\]\([^)]*\)|<!--.*?-->", "", text, flags=re.DOTALL)
    words = len(re.findall(r"[A-Za-z']+", prose)) + len(re.findall("[\u4e00-\u9fff]", prose)) / 1.6
    assert words < 500
