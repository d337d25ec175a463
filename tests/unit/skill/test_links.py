"""Links in the instructions to files that aren't there."""

from time import process_time

import pytest

from router.skill.loader import broken_links

PATHS = ["references/limits.md", "assets/a b.png", "scripts/sum.py"]


@pytest.mark.parametrize(
    "body",
    [
        "See [limits](references/limits.md).",
        "See [limits](./references/limits.md#shanghai) and [all](references/).",
        "![a](assets/a%20b.png) ![b](<assets/a b.png> 'title')",
        "[one](https://example.com/x.md) [two](mailto:a@b.c) [three](#below) [four](/etc/x)",
        "Write `[x](none.md)`, or\n```md\n[x](none.md)\n```\n~~~\n[x](none.md)\n```\n~~~",
        "[ref]\n\n[ref]: scripts/sum.py 'the sum'",
        "[templates]({name}.md) [nothing]() call(me).md",
    ],
)
def test_links_that_lead_somewhere_are_fine(body: str) -> None:
    assert list(broken_links(body, PATHS)) == []


@pytest.mark.parametrize(
    ("body", "line", "path"),
    [
        ("one\n\n[x](references/none.md)", 3, "references/none.md"),
        ("```\ncode\n```\n![x](assets/none.png)", 4, "assets/none.png"),
        ("[ref]: scripts/none.py", 1, "scripts/none.py"),
        ("[up](../other/SKILL.md)", 1, "../other/SKILL.md"),
    ],
)
def test_a_link_to_nowhere_is_named_with_its_line(body: str, line: int, path: str) -> None:
    ((number, fault),) = broken_links(body, PATHS)
    assert (number, fault.what) == (line, f"it links to {path}, which is not there")


def test_the_file_that_was_meant_is_named() -> None:
    ((_, fault),) = broken_links("[x](references/limit.md)", PATHS)
    assert fault.remedy == "did you mean references/limits.md?"


@pytest.mark.parametrize("piece", ["[](", "`" * 50 + "a", "](<", "](a '", "[a]: "])
def test_a_line_made_to_take_long_takes_no_time(piece: str) -> None:
    began = process_time()
    list(broken_links(piece * 10_000, PATHS))
    assert process_time() - began < 1
