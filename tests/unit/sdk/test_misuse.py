"""Every misuse of the public API is told in a sentence: file, line, what is wrong, the remedy."""

import re
from pathlib import Path
from types import ModuleType

import pytest

from router.documents.document_type import DOCUMENT_TYPES
from router.domain.errors import DefinitionError
from router.tool.registry import imported
from tests.table import each_row

HEAD = """\
from contextlib import contextmanager
from functools import partial
from typing import Annotated, TypedDict
import fastapi
from router.sdk import *

def get_db() -> int:
    return 1

"""
WORKING = '    """Do it."""\n    raise NotImplementedError\n'

TOOLS = {
    "@tool\ndef do() -> int:": "the tool do doesn't say its permission; write @tool(permission=",
    '@tool("Does it.")\ndef do() -> int:': "the tool do doesn't say its permission; write @tool(",
    '@tool(permission="reed")\ndef do() -> int:': "has the permission 'reed'; read, write or admin",
    '@tool(permission="read", timeout=10)\ndef do() -> int:': "has the timeout 10; write it like",
    '@tool(permission="read", cache=10)\ndef do() -> int:': "has the cache 10; write it like",
    '@tool(permission="read", retries="3")\ndef do() -> int:': "@tool has retries='3'; write a num",
    '@tool(permission="read", confirm="yes")\ndef do() -> int:': "has confirm='yes'; write True",
    '@tool(permission="read", roles=5)\ndef do() -> int:': "has roles=5; write a list of texts",
    '@tool(5, permission="read")\ndef do() -> int:': "has description=5; write a text",
    '@tool(permission="read", name="Do It")\ndef do() -> int:': "a name that models can't call it",
    '@tool(permission="read", speed=5)\ndef do() -> int:': "unexpected keyword argument 'speed'",
    '@tool(permission="read")\nclass Do:': "the tool Do is a class; write a function",
    '@tool(permission="read")\ndef do(self) -> int:': "is a method; write it outside of the class",
    '@tool(permission="read")\ndef do(x) -> int:': "write its type, as in `x: str`",
    '@tool(permission="read")\ndef do(x: int):': "annotate its result",
    '@tool(permission="read")\ndef do(x: "Missing") -> int:': "'Missing' is not defined; import",
    '@tool(permission="read")\ndef do(*x: int) -> int:': "declare each parameter by itself",
    '@tool(permission="read", check=5)\ndef do() -> int:': "the check 5 of the tool do is no func",
}
DEPENDENCIES = {
    "Depends(5)": "Depends(5) names a int, which can't be called; name a function or a class",
    "Depends('get_db')": "names a str, which can't be called",
    "Depends(x for x in [])": "names a generator, which can't be called; name the function",
    "fastapi.Depends(get_db)": "FastAPI's own Depends, which isn't filled in here; import",
    "fastapi.Security(get_db)": "FastAPI's own Depends",
    "Depends(needy)": "the dependency needy takes 'path', which nobody gives it; mark it, as in",
    "Depends(circular)": "a dependency depends on itself: circular → circle → circular",
    "Depends(unread)": "the dependency unread has an annotation that can't be read",
    "Depends(managed)": "the dependency managed is decorated as a context manager; take that off",
    "Depends(Needy)": "the dependency Needy takes 'path'",
    "Depends(partial(needy))": "the dependency needy takes 'path'",
    "Depends(dict)": "the dependency dict doesn't say what it is called with; write a function",
}
DEPENDED = """
def needy(path: str) -> int:
    return 1

def circle(x: Annotated[int, Depends(lambda: 1)]) -> int: return 1
def circular(x: "Annotated[int, Depends(circle)]") -> int: return 1
circle.__annotations__["x"] = "Annotated[int, Depends(circular)]"

def unread(x: "Missing") -> int: return 1

@contextmanager
def managed():
    yield 1

class Needy:
    def __init__(self, path: str) -> None: ...

"""
OTHERS = {
    "@provider\nclass Box:": "the provider Box is no function; decorate a function",
    "@provider\ndef box(x: int):": "the provider box takes 'x', which nobody gives it; mark it",
    "@provider\ndef box(x: Annotated[int, Depends(get_db)]):": (
        "the provider box is made once for all calls, and needs get_db, made for each call; "
        "decorate get_db with @provider too"
    ),
    "@provider\ndef box(ctx: ToolContext):": "takes a ToolContext, and is made once for all calls",
    "@hook\ndef look(event: TurnEvent) -> None:": "the hook look doesn't say where it stands",
    '@hook("after_lunch")\ndef look(event: TurnEvent) -> None:': "stands at 'after_lunch'; did",
    '@hook("after_turn", timeout=2)\ndef look(event: TurnEvent) -> None:': "has the timeout 2",
    '@hook("after_turn")\ndef look(event: ToolEvent) -> None:': "write `event: TurnEvent`",
    '@hook("after_turn")\ndef look(event: TurnEvent, x: Annotated[int, Depends(who)]) -> None:': (
        "the hook look takes a ToolContext; the event says who, when and where"
    ),
    '@hook("after_turn")\nclass Look:': "the hook Look is a class; write a function",
    "@lookup\ndef desk(tenant: str) -> int:": "the lookup desk doesn't say what it answers; write",
    '@lookup("desks")\ndef desk() -> int:': "the lookup desk takes no tenant; give it a first",
    '@lookup("desks")\ndef desk(tenant, *x) -> int:': "takes *x, which no expression passes",
    '@lookup("desks")\ndef desk(tenant, x=get_db) -> int:': "has a default that isn't JSON",
    '@lookup("desks")\ndef desk(tenant: "Missing") -> int:': "import what it names",
    '@lookup("desks")\ndef amount(tenant: str) -> int:': "has a name that means something else",
    '@lookup("desks")\ndef desk(tenant, x: Annotated[int, Depends(who)]) -> int:': (
        "the lookup desk depends on a ToolContext, which there is none of in a lookup"
    ),
    '@lookup("desks")\nclass Desk:': "the lookup Desk is no function; decorate a function",
    "@document_type\nclass Paper(int):": "the document type Paper is no class derived",
    "@document_type\nclass Paper(DocumentType):": (
        "the document type Paper has no name, label, fields, likelihood, read; write"
    ),
    '@document_type\nclass Paper(DocumentType):\n    name = "invoice"': "has no label, fields",
}


def body_of(declared: str) -> str:
    """A class or function that is whole but for what is wrong with it."""
    return f"{declared}\n    pass\n" if "class " in declared else f"{declared}\n{WORKING}"


def load(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> ModuleType:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(__import__("sys").modules, "misused", raising=False)
    (folder / "misused.py").write_text(text, encoding="utf-8")
    return imported("misused")


def told(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> str:
    with pytest.raises(DefinitionError) as caught:
        load(folder, monkeypatch, text)
    said = str(caught.value)
    assert re.match(rf"{folder}/misused\.py:[1-9][0-9]*: .+; .+", said), said
    return said


@each_row(("declared", "said"), [*TOOLS.items()], ids=range(len(TOOLS)))
def test_of_a_tool(
    declared: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert said in told(tmp_path, monkeypatch, f"{HEAD}{body_of(declared)}")


@each_row(("marked", "said"), [*DEPENDENCIES.items()])
@each_row("form", ["x: Annotated[int, {}]", "x: int = {}"])
def test_of_a_dependency(
    marked: str, said: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    declared = f'@tool(permission="read")\ndef do({form.format(marked)}) -> int:'
    assert said in told(tmp_path, monkeypatch, f"{HEAD}{DEPENDED}{declared}\n{WORKING}")


@each_row(("declared", "said"), [*OTHERS.items()], ids=range(len(OTHERS)))
def test_of_a_provider_hook_lookup_or_document_type(
    declared: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    who = "def who(ctx: ToolContext) -> int:\n    return 1\n"
    before = {**DOCUMENT_TYPES}
    try:
        assert said in told(tmp_path, monkeypatch, f"{HEAD}{who}{body_of(declared)}")
    finally:
        DOCUMENT_TYPES.clear()
        DOCUMENT_TYPES.update(before)


def test_of_a_typed_dict_that_python_3_11_says_too_little_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'class Row(TypedDict):\n    x: int\n\n@tool(permission="read")\ndef do() -> Row:\n'
    if __import__("sys").version_info < (3, 12):
        said = told(tmp_path, monkeypatch, f"{HEAD}{text}{WORKING}")
        assert "write `from typing_extensions import TypedDict`" in said
    else:
        assert load(tmp_path, monkeypatch, f"{HEAD}{text}{WORKING}").do.name == "do"
