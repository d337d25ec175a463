"""What each kind of snippet has to be, by its language. Every check raises where it isn't."""

import json
import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from router.api.turns import MessageBody
from router.directory.file import FileDirectory
from router.evaluation.dataset import LabelledLine
from router.flow.definition import State, Triggers, Withdrawal
from router.flow.loader import load_flow
from router.skill.loader import read_skill
from router.tool.http.operations import References, operations_of, taken_by
from tests.docs.shell import slips
from tests.docs.snippets import Snippet

PARTS: Mapping[str, type[Triggers] | type[Withdrawal]] = {
    "triggers": Triggers,
    "withdrawal": Withdrawal,
}
"""Parts of a flow file that pages show by themselves; anything else is states, by name."""
_TEXT = '{zh: "…", en: "…"}'


def check_shell(snippet: Snippet, _: Path) -> None:
    """Commands exist, with these options and arguments."""
    assert list(slips(snippet.text)) == []


def check_yaml(snippet: Snippet, folder: Path) -> None:
    """A flow, its stories, a part of a flow, people, or a document of operations."""
    if snippet.text.startswith("flow:"):
        name = snippet.text.partition("\n")[0].partition(": ")[2]
        file = folder / f"{name}.yaml"
        file.write_text(snippet.text, encoding="utf-8")
        load_flow(file)
    elif snippet.text.startswith("- story:"):
        assert all(story["steps"] for story in _yaml(snippet.text))  # played elsewhere
    elif snippet.text.startswith("openapi:"):
        document = _yaml(snippet.text)
        references = References(document)
        assert all(taken_by(each, references) for each in operations_of(document, references))
    elif snippet.marker == "people":
        FileDirectory.read(_people(snippet.text), str(snippet))
    elif snippet.marker == "step of a pipeline":
        assert list(slips(_yaml(snippet.text)[0]["run"])) == []
    else:
        _check_part(_yaml(_filled_in(snippet.text)))


def check_json(snippet: Snippet, _: Path) -> None:
    """JSON; what looks like a message is one."""
    shown = json.loads(snippet.text)
    if "action" in shown:
        MessageBody.model_validate(shown)


def check_lines(snippet: Snippet, _: Path) -> None:
    """Labelled messages, as `eval` reads them."""
    for line in snippet.text.splitlines():
        LabelledLine.model_validate_json(line)


def check_python(snippet: Snippet, _: Path) -> None:
    """Python; the tests of each page run what it shows."""
    compile(snippet.text.replace(", …)", ")"), str(snippet), "exec")


def check_skill(snippet: Snippet, folder: Path) -> None:
    """A skill's `SKILL.md`."""
    name = re.search(r"^name: (.+)$", snippet.text, re.MULTILINE)
    assert name is not None
    (folder / name[1]).mkdir()
    (folder / name[1] / "SKILL.md").write_text(snippet.text, encoding="utf-8")
    read_skill(folder / name[1])


def check_shown(snippet: Snippet, _: Path) -> None:
    """Something to look at: there is something."""
    assert snippet.text.strip()


CHECKS: Mapping[str, Callable[[Snippet, Path], None]] = {
    "sh": check_shell,
    "yaml": check_yaml,
    "json": check_json,
    "jsonl": check_lines,
    "python": check_python,
    "markdown": check_skill,
    "dialogue": check_shown,
    "mermaid": check_shown,
    "text": check_shown,
    "": check_shown,
}


def _yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(textwrap.dedent(text))


def _filled_in(text: str) -> str:
    """The part with what its `…` stand for."""
    return text.replace("{…}", _TEXT).replace(", …}", "}")


def _people(text: str) -> str:
    return text if text.startswith("users:") else f"users:\n{text}"


def _check_part(part: dict[str, Any]) -> None:
    for name, value in part.items():
        PARTS.get(name, State).model_validate(value)
