"""Documents in a folder, and what is sent of them; the server is a table here."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from router.cli.config import (
    VERSIONS,
    DocumentFolder,
    DocumentId,
    PushOptions,
    differences,
    pulled,
    pushed,
    row_of,
)
from router.client import Refused
from router.domain.configuration_documents import DocumentKind, path_of
from router.domain.errors import InvalidInput, NotFound, RouterError
from tests.unit.runtime.documents import SKILL, SOUND, overtime

OVERTIME = DocumentId("flows", "overtime")


class Server:
    """Versions by document, as the API answers of them; `needs` has one refused without another."""

    def __init__(self, needs: Mapping[str, str] | None = None) -> None:
        self.texts: dict[str, list[str]] = {}
        self.holds: dict[str, int] = {}
        """Of those whose newest version doesn't hold: which does."""
        self.more: list[dict[str, Any]] = []
        """What else it lists."""
        self.needs = needs or {}

    async def get(self, path: str, **_: Any) -> dict[str, Any]:
        if path.count("/") == 2:
            return {"items": [*map(self._head, self.texts), *self.more], "unfit": None}
        head = self._head(path)
        held = head["active"]
        return {**head, "text": self.texts[path][held - 1], "version": held}

    async def put(
        self, path: str, body: dict[str, Any], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        if (other := self.needs.get(path)) and other not in self.texts:
            raise Refused(f"there is no {other}", 422)
        over = int((headers or {}).get("If-Match", '"0"').strip('"'))
        if not self._latest(path) and headers:
            raise Refused("There is no such document yet: leave If-Match out", 412)
        if over != self._latest(path):
            raise Refused(f"The newest version is {self._latest(path)}", 412)
        self.texts.setdefault(path, []).append(body["text"])
        return {**self._head(path), "version": self._latest(path), "remarks": []}

    def _latest(self, path: str) -> int:
        return len(self.texts.get(path, []))

    def _head(self, path: str) -> dict[str, Any]:
        *_, kind, name = path.split("/")
        latest = self._latest(path)
        active = self.holds.get(path, latest)
        return {"kind": kind, "name": name, "latest": latest, "active": active}


def fill(root: Path, texts: Mapping[DocumentKind, tuple[str, str]]) -> None:
    """Write documents into a folder as their author would."""
    for kind, (name, text) in texts.items():
        path = root / path_of(kind, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def of(root: Path, text: str = "") -> DocumentFolder:
    fill(root, {"flows": ("overtime", text or overtime())})
    return DocumentFolder.at(root)


async def push(server: Server, folder: DocumentFolder, *documents: DocumentId, **how: Any) -> Any:
    return await pushed(server, folder, documents, PushOptions(**how))  # type: ignore[arg-type]


async def pull(
    server: Server, folder: DocumentFolder, *documents: DocumentId, force: bool = False
) -> Any:
    return await pulled(server, folder, documents, force=force)  # type: ignore[arg-type]


async def test_what_is_pushed_and_pulled_again_is_the_same_to_the_byte(tmp_path: Path) -> None:
    server, texts = Server(), {**SOUND}
    texts["flows"] = ("overtime", overtime().replace("\n", "\r\n"))
    fill(tmp_path / "a", texts)
    await push(server, DocumentFolder.at(tmp_path / "a"))
    await pull(server, DocumentFolder.at(tmp_path / "b"))
    for kind, (name, text) in texts.items():
        assert (tmp_path / "b" / path_of(kind, name)).read_bytes() == text.encode()


async def test_what_others_wrote_since_is_not_written_over_unseen(tmp_path: Path) -> None:
    server = Server()
    mine, theirs = of(tmp_path / "a"), of(tmp_path / "b", overtime(said="theirs"))
    await push(server, mine)
    with pytest.raises(RouterError, match="newest version is 1"):
        await push(server, theirs)
    await push(server, theirs, force=True)
    fill(tmp_path / "a", {"flows": ("overtime", overtime(said="mine again"))})
    with pytest.raises(RouterError, match="newest version is 2"):
        await push(server, DocumentFolder.at(tmp_path / "a"))


async def test_a_draft_that_was_not_pulled_is_not_written_over_unseen(tmp_path: Path) -> None:
    server = Server()
    await push(server, of(tmp_path / "a"))
    server.texts[OVERTIME.api].append(overtime(said="a draft of somebody"))
    server.holds[OVERTIME.api] = 1
    lines = await pull(server, DocumentFolder.at(tmp_path / "b"))
    assert lines[0] == "flows/overtime: version 1"
    assert "version 2 is written and doesn't hold: " in lines[1]
    fill(tmp_path / "b", {"flows": ("overtime", overtime(said="mine"))})
    with pytest.raises(RouterError, match="newest version is 2"):
        await push(server, DocumentFolder.at(tmp_path / "b"))
    assert len(server.texts[OVERTIME.api]) == 2


async def test_a_push_that_breaks_off_says_what_was_sent_before_and_where_it_broke(
    tmp_path: Path,
) -> None:
    server = Server()
    server.texts["/v1/configuration/flows/b"] = ["somebody else's"]
    for name in ("a", "b", "c"):
        fill(tmp_path, {"flows": (name, name)})
    with pytest.raises(RouterError) as broken:
        await push(server, DocumentFolder.at(tmp_path))
    first, second = str(broken.value).splitlines()
    assert first == "flows/a: version 1 holds"
    assert second == "flows/b: The newest version is 1"


@pytest.mark.parametrize("force", [False, True])
async def test_a_server_that_has_no_such_document_is_sent_a_new_one(
    tmp_path: Path, force: bool
) -> None:
    await push(Server(), of(tmp_path))
    (line,) = await push(Server(), DocumentFolder.at(tmp_path), force=force)
    assert line == "flows/overtime: version 1 holds"


async def test_a_misspelt_name_is_said_to_be_nowhere(tmp_path: Path) -> None:
    server, folder, misspelt = Server(), of(tmp_path), DocumentId("flows", "overtme")
    await push(server, folder)
    with pytest.raises(NotFound, match="flows/overtme: no version holds on the server"):
        await pull(server, folder, OVERTIME, misspelt, force=True)
    with pytest.raises(NotFound, match="flows/overtme: no version holds on the server"):
        await differences(server, folder, [misspelt])  # type: ignore[arg-type]
    assert await differences(server, folder, [OVERTIME]) == []  # type: ignore[arg-type]


NO_DOCUMENTS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "no-name": {"kind": "flows", "active": 1},
    "name-of-null": {"kind": "flows", "name": None, "active": 1},
    "name-outside-the-folder": {"kind": "flows", "name": "../../x", "active": 1},
    "skill-outside-its-folder": {"kind": "skills", "name": "../x", "active": 1},
    "kind-outside-the-folder": {"kind": "../flows", "name": "x", "active": 1},
    "another-folder": {"kind": "/etc", "name": "passwd", "active": 1},
    "kind-of-a-newer-server": {"kind": "charters", "name": "x", "active": 1},
    "no-texts": {"kind": ["flows"], "name": {"a": 1}, "active": 1},
}


@pytest.mark.parametrize("listed", NO_DOCUMENTS.values(), ids=NO_DOCUMENTS)
async def test_what_a_server_lists_that_has_no_place_in_a_folder_is_passed_over(
    tmp_path: Path, listed: dict[str, Any]
) -> None:
    server, root = Server(), tmp_path / "inner" / "folder"
    await push(server, of(tmp_path / "mine"))
    server.more = [listed]
    assert await pull(server, DocumentFolder.at(root)) == ["flows/overtime: version 1"]
    there = {each for each in (tmp_path / "inner").rglob("*") if each.is_file()}
    assert there == {root / OVERTIME.path, root / VERSIONS}
    assert len(await push(server, DocumentFolder.at(root), force=True)) == 1


async def test_changes_of_one_s_own_are_not_pulled_over(tmp_path: Path) -> None:
    server, folder = Server(), of(tmp_path)
    await push(server, folder)
    fill(tmp_path, {"flows": ("overtime", overtime(said="unsent"))})
    with pytest.raises(InvalidInput, match="aren't on the server"):
        await pull(server, folder)
    assert "unsent" in (tmp_path / OVERTIME.path).read_text()
    await pull(server, folder, force=True)
    assert (tmp_path / OVERTIME.path).read_text() == overtime()


async def test_a_document_that_needs_one_behind_it_is_sent_again(tmp_path: Path) -> None:
    one, two = "/v1/configuration/flows/a", "/v1/configuration/flows/b"
    for name in ("a", "b"):
        fill(tmp_path, {"flows": (name, name)})
    server = Server({one: two})
    await push(server, DocumentFolder.at(tmp_path))
    assert [*server.texts] == [two, one]
    with pytest.raises(InvalidInput, match="flows/a: there is no"):
        await push(Server({one: "/never"}), DocumentFolder.at(tmp_path), DocumentId("flows", "a"))


async def test_the_difference_is_what_a_push_would_change(tmp_path: Path) -> None:
    server, folder = Server(), of(tmp_path)
    await push(server, folder)

    async def told() -> list[str]:
        return await differences(server, DocumentFolder.at(tmp_path), [])  # type: ignore[arg-type]

    assert await told() == []
    fill(tmp_path, {"flows": ("overtime", overtime(said="Changed")), "personas": SOUND["personas"]})
    lines = await told()
    assert any(line.startswith("+") and "Changed" in line for line in lines)
    assert any(line.startswith("+++") and "desk.yaml" in line for line in lines)
    (tmp_path / OVERTIME.path).unlink()
    assert "+++ /dev/null" in await told()


async def test_a_skill_with_files_beside_it_is_no_document(tmp_path: Path) -> None:
    fill(tmp_path, {"skills": ("travel-tips", SKILL)})
    (tmp_path / "skills/travel-tips/run.sh").write_text("true")
    with pytest.raises(InvalidInput, match="has files beside it"):
        await push(Server(), DocumentFolder.at(tmp_path))


async def test_files_that_are_no_documents_are_left_alone(tmp_path: Path) -> None:
    folder = of(tmp_path)
    for path in ("flows/tests/a/x.yaml", "flows/notes.md", "README.md", "skills/lost.md"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    assert [*folder.documents()] == [OVERTIME]


@pytest.mark.parametrize("note", ["{", "[]", '{"a": 1}', '{"a": ["x", "y"]}', "null"])
def test_a_broken_note_is_said_to_be_broken(tmp_path: Path, note: str) -> None:
    (tmp_path / VERSIONS).write_text(note)
    with pytest.raises(InvalidInput, match="can't be read"):
        DocumentFolder.at(tmp_path)


def test_a_file_that_is_no_text_or_is_not_there_is_refused(tmp_path: Path) -> None:
    folder = of(tmp_path)
    (tmp_path / OVERTIME.path).write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match="UTF-8"):
        folder.documents()
    with pytest.raises(NotFound):
        folder.documents([DocumentId("flows", "other")])


@pytest.mark.parametrize("written", ["overtime", "flows/", "flows/../x", "code/x", ""])
def test_what_names_no_document_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput, match="is no document"):
        DocumentId.read(written)


def test_a_document_is_named_by_its_file_too() -> None:
    assert DocumentId.read("flows/overtime") == DocumentId.read("flows/overtime.yaml") == OVERTIME


HEAD = {"kind": "flows", "name": "overtime", "latest": 3, "author": "anna"}
MOMENTS = {"written_at": "2026-11-23T09:00:00Z", "upcoming_from": "2026-12-01T08:00:00Z"}


@pytest.mark.parametrize(
    ("standing", "holds", "coming"),
    [
        ({"active": 1}, "1", "-"),
        ({"active": None}, "none", "-"),
        ({"active": 1, "shared": 2, "share": 10}, "1, 2 for 10 %", "-"),
        ({"active": None, "shared": 1, "share": 5}, "none, 1 for 5 %", "-"),
        ({"active": 1, "upcoming": 2, **MOMENTS}, "1", "2 from 2026-12-01T08:00"),
        ({"active": 1, "upcoming": None, **MOMENTS}, "1", "none from 2026-12-01T08:00"),
    ],
)
def test_the_list_says_what_a_share_has_and_what_is_to_come(
    standing: dict[str, Any], holds: str, coming: str
) -> None:
    written = {"written_at": MOMENTS["written_at"]}
    row = row_of({**HEAD, **written, **standing})
    assert row == ("flows/overtime", holds, coming, "3", "anna", "2026-11-23T09:00")


async def test_the_note_remembers_what_the_files_were(tmp_path: Path) -> None:
    await push(Server(), of(tmp_path))
    kept = json.loads((tmp_path / VERSIONS).read_text())
    assert kept[OVERTIME.path][0] == 1
    assert not DocumentFolder.at(tmp_path).changed(OVERTIME)


def test_a_process_that_only_moves_documents_knows_the_kinds_of_extensions() -> None:
    words = ["config", "retire", "tools/weather", "--url", "http://127.0.0.1:9"]
    asked = subprocess.run(
        [sys.executable, "-m", "router", *words], capture_output=True, text=True, check=False
    )
    assert "127.0.0.1:9" in asked.stderr
    assert "is no document" not in asked.stderr
