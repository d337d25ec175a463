"""Another input of one, by what its format is made of: libFuzzer knows of bytes alone."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from tests.fuzz.entrance import Form

Change = Callable[[bytes, random.Random], bytes]

STRANGE: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1e308,
        2**63,
        10**400,
        0.1,
        "",
        " ",
        "\0",
        "\ud800",
        "😀",
        "é" * 70,
    ),
    *([], {}, [[]], [None], {"": None}, {"type": "x"}, "x" * 9_000, [0] * 300, "../../etc/passwd"),
    *(
        "{conversation}",
        "{run}",
        "2026-02-30",
        "9999-12-31T23:59:60Z",
        "-1",
        "1e9",
        "\u202e",
        "{{ 7 }}",
    ),
    *(
        "请假",
        "一百亿万年前的今天",
        "ﷺ",
        "$ref",
        "__proto__",
        "constructor",
        "<script>",
        "%00",
        "*",
    ),
)
"""Values that are none of what is asked for, or all too much of it."""
DEEP = b"[" * 60
WORDS_SHARE = 0.6
"""Of the changes, where the words of the input's language are known."""


def changed(data: bytes, form: Form, seed: int, longest: int, words: Sequence[str] = ()) -> bytes:
    """Change an input in one to four ways that its form suggests, and cut it at `longest` bytes.

    Args:
        words: Of the language that the input is written in; they are put into it here and there.
    """
    chance = random.Random(seed)
    head, body = b"", data
    if form == "request" and b"\n\n" in data:
        head, _, body = data.partition(b"\n\n")
        head += b"\n\n"
        if chance.random() < 0.2:
            return (_lines(head, chance) + body)[:longest]
    is_json = form == "json" or body.lstrip()[:1] in (b"{", b"[")
    for _ in range(chance.choice((1, 1, 2, 4))):
        if words and chance.random() < WORDS_SHARE:
            body = (_with_keyword if is_json else _with_words)(body, chance, words)
        else:
            body = (_json if is_json else _lines)(body, chance)
    return (head + body)[:longest]


def _with_words(data: bytes, chance: random.Random, words: Sequence[str]) -> bytes:
    """Put a few words of the language somewhere, once or many times."""
    text = "".join(chance.choices(words, k=chance.choice((1, 1, 2, 3))))
    start = chance.randrange(len(data) + 1)
    end = min(len(data), start + chance.choice((0, 0, 1, 5)))
    times = chance.choice((1, 1, 1, 2, 30, 900))
    return data[:start] + text.encode() * times + data[end:]


def _with_keyword(data: bytes, chance: random.Random, words: Sequence[str]) -> bytes:
    """Give an object of the document a keyword, with a value from elsewhere in it."""
    try:
        whole = json.loads(data)
        places = _places(whole)
        objects = [place for place in places if isinstance(_at(whole, place), dict)]
        if not objects:
            return data
        place, value = chance.choice(objects), _at(whole, chance.choice(places))
        value = chance.choice((value, [value], [value] * 40, {"a": value}, *STRANGE))
        changed_object = {**_at(whole, place), chance.choice(words): value}
        return json.dumps(_put(whole, place, changed_object)).encode()
    except (ValueError, RecursionError):
        return data


def _json(data: bytes, chance: random.Random) -> bytes:
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return _lines(data, chance)
    places = _places(whole)
    place = chance.choice(places)
    value = _another(_at(whole, place), whole, places, chance)
    try:
        return json.dumps(_put(whole, place, value)).encode()
    except (ValueError, RecursionError):
        return data


def _another(value: Any, whole: Any, places: list[tuple[Any, ...]], chance: random.Random) -> Any:
    """A value in place of this one: strange, from elsewhere in the document, or nearly the same."""
    how = chance.randrange(6)
    if how == 0:
        return _at(whole, chance.choice(places))
    if how == 1 and isinstance(value, dict) and value:
        return {k: v for k, v in value.items() if k != chance.choice([*value])}
    if how == 2 and isinstance(value, dict):
        return {**value, chance.choice(("type", "id", "x", "", "user")): chance.choice(STRANGE)}
    if how == 3 and isinstance(value, list) and len(value) < 300:
        return value * chance.choice((2, 3, 40))
    if how == 4 and isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        return value[:at] + str(chance.choice(STRANGE)) + value[at:]
    return chance.choice(STRANGE)


def _places(node: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: Any = node.items() if isinstance(node, dict) else ()
    inner = enumerate(node) if isinstance(node, list) else inner
    return [at, *(place for key, one in inner for place in _places(one, (*at, key)))][:2_000]


def _at(node: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        node = node[key]
    return node


def _put(node: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    copied = list(node) if isinstance(node, list) else dict(node)
    copied[place[0]] = _put(node[place[0]], place[1:], value)
    return copied


def _lines(data: bytes, chance: random.Random) -> bytes:
    """A line twice, gone, elsewhere, further in, repeated in part, or with something strange."""
    lines = data.split(b"\n")
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    line, how = lines[at], chance.randrange(8)
    if how == 0:
        lines.insert(to, line)
    elif how == 1 and len(lines) > 1:
        del lines[at]
    elif how == 2:
        lines[at], lines[to] = lines[to], line
    elif how == 3:
        lines[at] = b"  " + line if chance.random() < 0.5 else line.removeprefix(b"  ")
    elif how == 4:
        key, colon, _ = line.partition(b":")
        lines[at] = key + colon + b" " + _said(chance) if colon else _said(chance)
    elif how == 5:
        lines[at : at + 1] = [line] * chance.choice((2, 50))
    elif how == 6:
        lines[at] = _repeated(line, chance)
    else:
        cut = chance.randrange(len(line) + 1)
        lines[at] = line[:cut] + _said(chance) + line[cut:]
    return b"\n".join(lines)


def _repeated(line: bytes, chance: random.Random) -> bytes:
    """A piece of the line many times over, as `(a)|(a)|(a)|`."""
    start = chance.randrange(len(line) + 1)
    end = min(len(line), start + chance.choice((1, 2, 4, 9, 30)))
    times = chance.choice((2, 40, 1_000, 16_000))
    return line[:start] + line[start:end] * times + line[end:]


def _said(chance: random.Random) -> bytes:
    value = chance.choice((*STRANGE, DEEP, b"&a [*a]", b"!!x", b"${", b"'", b"]]>", b"&x;"))
    if isinstance(value, bytes):
        return value
    return (
        value.encode("utf-8", "surrogatepass")
        if isinstance(value, str)
        else str(value)[:400].encode()
    )
