"""No program decides on a text that is meant for people: what it decides on is a field.

A prefix, a separator or a word in a sentence changes with the sentence, and whoever fills in a name
can forge it. Write a value with a `kind` instead, and make the text of that.
"""

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path

import router
from tests.table import each_row

HOME = Path(router.__file__).parents[1]
FOLDERS = ("router", "workflows", "activities")
ALLOWED = {
    "what people write is read here": """router/understanding/ router/entities/
        router/extensions/notifications/wishes.py router/flow/slot_types/dates.py
        router/flow/slot_types/numbers.py""",
    "texts of authors are checked here": """router/flow/validation/ router/story/entries.py
        router/tool/tool.py""",
    "what a model says is compared with what was found": """router/routing/claims.py
        router/routing/faithfulness.py router/routing/replies.py""",
    "only the words of a foreign library or server tell these causes apart": """
        activities/sandbox.py router/directory/file.py router/flow/definition.py
        router/formats/regex.py router/formats/yaml_document.py router/gateway/failing_workflows.py
        router/gateway/retries.py router/llm/refusals.py router/runtime/temporal.py
        router/telemetry/temporal_logs.py router/extensions/mcp/tools.py""",
    "a line of a library's error is shown, and nothing decided": """router/client/clients.py
        router/llm/connection.py router/retrieval/encoders.py router/tool/signature.py""",
    "a format that others define is read or written here": """router/api/markdown.py
        router/documents/ router/domain/file_types.py router/formats/yaml_marks.py
        router/extensions/document_formats/ router/extensions/evaluation/examples/
        router/extensions/importers/ router/extensions/openai/ router/extensions/slack/
        router/extensions/teams/ router/flow/language/ router/extensions/mcp/keeper.py""",
    "what is printed already isn't printed again": "router/cli/terminal/chat_conversation.py",
    "this is a template of a test": "router/extensions/mcp/templates/",
}
"""Why some files and folders may."""
MAY = tuple(path for paths in ALLOWED.values() for path in paths.split())
TEXTS = frozenset(
    {"comment", "complaint", "detail", "error", "event", "explanation", "lacks", "message", "msg"}
    | {"objection", "problem", "reason", "refusal", "remedy", "result_preview", "said", "told"}
    | {"what", "why"}
)
"""Names of variables, attributes and keys that hold texts for people; an attribute `text` too."""
METHODS = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split"}
    | {"rsplit", "find", "rfind", "index", "rindex", "count"}
)
EXPRESSIONS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub", "split"})
UNCHANGED = frozenset({"strip", "lstrip", "rstrip", "lower", "casefold", "replace", "within"})
CONVERSIONS = frozenset({"str", "repr", "one_line", "visible"})
A_SENTENCE = re.compile(r"[a-z] |[a-z']: $| [a-z]")


def is_text(node: ast.expr) -> bool:
    found = False
    match node:
        case ast.Name(id=name):
            found = name.strip("_") in TEXTS
        case ast.Attribute(attr=name):
            found = name.strip("_") in TEXTS | {"text"}
        case ast.Subscript(slice=ast.Constant(value=str(key))):
            found = key in TEXTS
        case ast.BoolOp(values=[first, *_]):
            found = is_text(first)
        case ast.Call(func=ast.Name(id=name), args=[first, *_]):
            found = name in CONVERSIONS and is_text(first)
        case ast.Call(func=ast.Attribute(value=of, attr=name)):
            found = name in METHODS | UNCHANGED and is_text(of)
    return found


def is_fixed(node: ast.expr, sentences: Collection[str] | None = None) -> bool:
    """Return whether it is a constant; with `sentences`, one that holds a sentence."""
    match node:
        case ast.Constant(value=str(text)):
            return sentences is None or A_SENTENCE.search(text) is not None
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper() if sentences is None else name in sentences
    return False


def sentences_in(module: ast.Module) -> Iterator[str]:
    """Yield the names of the constants of a module that hold sentences."""
    for node in module.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(is_fixed(part, ()) for part in parts):
                yield node.targets[0].id


def decisions_in(module: ast.Module, sentences: Collection[str]) -> Iterator[int]:
    """Yield the lines that take a text for people apart, or look for something in one."""
    decides = False
    for node in ast.walk(module):
        match node:
            case ast.Call(func=ast.Attribute(value=of, attr=name), args=[first, *_] as args):
                decides = name in METHODS and (is_text(of) or is_fixed(first, sentences))
                decides |= name in EXPRESSIONS and any(map(is_text, args))
                decides |= name == "loads" and getattr(first, "attr", "") in TEXTS
            case ast.Compare(left=sought, ops=[ast.In() | ast.NotIn()], comparators=[within]):
                decides = is_fixed(sought, sentences) or (is_fixed(sought) and is_text(within))
            case ast.Subscript(value=ast.Call(func=ast.Attribute(value=of, attr="split"))):
                decides = is_text(of)
            case _:
                continue
        if decides:
            yield node.lineno


@each_row(
    ("source", "decides"),
    [
        ('tool, _, answer = (line.comment or "").partition(": ")', True),
        ('line.event.partition(" ")[0] in RELEASES', True),
        ('int((line.comment or "1").split()[0])', True),
        ('what, _, remedy = str(error).partition("; ")', True),
        ('fault["msg"].removeprefix("Value error, ")', True),
        ('[r for r in refused if r.text.startswith("error: ")]', True),
        ("json.loads(call.result_preview)", True),
        ('UNREADABLE = "can\'t be read"\nany(UNREADABLE in each for each in found)', True),
        ('OURS = ("Found out before:", "It is")\nnot each.startswith(OURS)', True),
        ('line.event == "held" or line.event in {"lost", "held"}', False),
        ('" ".join(line.comment.split())', False),
        ('path.removeprefix("./").startswith(PREFIX)', False),
        ("command not in said", False),
    ],
)
def test_a_decision_on_a_text_is_found(source: str, decides: bool) -> None:
    module = ast.parse(source)
    assert bool([*decisions_in(module, {*sentences_in(module)})]) is decides


def test_nothing_is_decided_by_a_text_for_people() -> None:
    files = [file for folder in FOLDERS for file in sorted((HOME / folder).rglob("*.py"))]
    modules = {str(file.relative_to(HOME)): ast.parse(file.read_bytes()) for file in files}
    sentences = {name for module in modules.values() for name in sentences_in(module)}
    found = {name: [*decisions_in(module, sentences)] for name, module in modules.items()}
    deciding = {name: lines for name, lines in found.items() if lines}
    assert [n for n in deciding.items() if not n[0].startswith(MAY)] == []
    assert [one for one in MAY if not any(n.startswith(one) for n in deciding)] == []
