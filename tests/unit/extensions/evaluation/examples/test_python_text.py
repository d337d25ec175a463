"""Sentences put into `@tool(examples=[…])`: as `ruff format` would set them."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from router.extensions.evaluation.examples.python_text import PythonText, literal
from router.extensions.evaluation.examples.text_edit import Unwritable
from tests.table import each_row

BODY = "async def look_up() -> str:\n    return 'é'\n"
LONG = "我想知道这个东西现在到底放在哪个柜子里面，谁能告诉我一声"


def written(decorator: str, *sentences: str) -> str:
    text = f"é = 1\n\n\n{decorator}\n{BODY}".replace("'", '"')
    return PythonText.read(text).with_examples("look_up", sentences or ["it's", 'say "hi"'])


def examples_in(text: str) -> list[str]:
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.AsyncFunctionDef)
    call = function.decorator_list[0]
    assert isinstance(call, ast.Call)
    (given,) = (each for each in call.keywords if each.arg == "examples")
    found: list[str] = ast.literal_eval(given.value)
    return list(found)


DECORATORS = [
    "@tool()",
    "@tool(permission='read')",
    "@tool(permission='read', examples=[])",
    "@tool(permission='read', examples=['a', '请'])  # why",
    "@tools.tool(permission='read', title={'zh': '查', 'en': 'Look'}, examples=['a'])",
    """@tool(
    permission='read',  # why
    examples=['a', 'b'],  # these
    roles=['hr'],
)""",
    """@tool(
    permission='read',
    examples=[
        'a',  # one
        # two, and three
    ],
)""",
    """@tool(
    permission='read',
    roles=['hr'],  # who
)""",
    """@tool(
    permission='read', roles=['hr'], title={'zh': '查一下查', 'en': 'Look it up'}, retries=3
)""",
]


@each_row("decorator", DECORATORS)
@each_row("sentences", [["x"], [LONG, f"{LONG}2", "it's", 'say "hi"', "a\\b"]])
def test_they_are_added_and_every_comment_stays(decorator: str, sentences: list[str]) -> None:
    text = written(decorator, *sentences)
    assert examples_in(text)[-len(sentences) :] == sentences
    assert decorator.count("#") == text.count("#")
    assert text.endswith(BODY.replace("'", '"'))


def test_ruff_format_has_nothing_to_change(tmp_path: Path) -> None:
    files = []
    for number, decorator in enumerate(DECORATORS):
        for name, sentences in {"short": ["x"], "long": [LONG, f"{LONG}2", "it's"]}.items():
            files.append(tmp_path / f"{name}{number}.py")
            files[-1].write_text(written(decorator, *sentences), encoding="utf-8")
    command = [sys.executable, "-m", "ruff", "format", "--line-length=100", "--isolated", "--diff"]
    found = subprocess.run([*command, *files], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "")


@each_row(
    ("text", "said"),
    [
        ("async def look_up(", "isn't Python"),
        ("async def look_up(): pass", "no function look_up is decorated"),
        ("@tool(examples=SAID)\nasync def look_up(): pass", "the examples of look_up are no list"),
        ("@tool(examples=[\n])\nasync def look_up(): pass", "write \\[\\] there"),
        ("@tool(examples=[\n'a'])\nasync def look_up(): pass", "set it below"),
        (
            f"@tool(a=1, # why\n b=2, c=3)\nasync def look_up(): {'x'!r}",
            "there may be a comment",
        ),
    ],
)
def test_what_cannot_be_written_into_says_what_to_do(text: str, said: str) -> None:
    with pytest.raises(Unwritable, match=said):
        PythonText.read(text).with_examples("look_up", ["a"])


@each_row("text", ["", "it's", 'say "hi"', "both \" and '", "\\n", "请"])
def test_a_literal_is_the_text_again(text: str) -> None:
    assert ast.literal_eval(literal(text)) == text
