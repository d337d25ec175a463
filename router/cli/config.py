"""`intent-router config`: documents of configuration between a folder and a server's database.

A folder of documents looks as the project's own files do, and what is pushed and pulled again is
the same to the byte. `.versions.json` in it says which version each file was last the same as: what
somebody else has written since is never written over unseen.
"""

import asyncio
import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, NamedTuple

import typer

from router.cli.options import OPERATOR, TokenOption, Url, UserOption, echo_aligned
from router.cli.rest import Rest, asked
from router.client import Refused
from router.domain.configuration_documents import (
    LARGEST,
    DocumentKind,
    digest_of,
    document_kinds,
    is_name,
    path_of,
    placed,
)
from router.domain.errors import InvalidInput, NotFound, RouterError
from router.runtime.configuration_kinds import register_configuration_kinds
from router.runtime.extensions import load_configured
from router.settings import Settings

VERSIONS = ".versions.json"
REFUSED = 422
API = "/v1/configuration"


class DocumentId(NamedTuple):
    """A document by kind and name, written as `flows/overtime`."""

    kind: DocumentKind
    name: str

    @classmethod
    def read(cls, written: str) -> "DocumentId":
        """The document that is meant; its file's path will do. Raises `InvalidInput`."""
        found = placed(PurePosixPath(written))
        kind, _, name = written.partition("/")
        if found is not None:
            return cls(*found)
        if kind not in document_kinds() or not is_name(kind, name):
            kinds = ", ".join(document_kinds())
            raise InvalidInput(
                f"{written!r} is no document: write KIND/NAME, with a kind of {kinds}"
            )
        return cls(kind, name)

    @property
    def path(self) -> str:
        """Where its file stands in a folder of documents."""
        return path_of(self.kind, self.name)

    @property
    def api(self) -> str:
        """Where it is on the server."""
        return f"{API}/{self.kind}/{self.name}"

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class KnownVersion(NamedTuple):
    """What a file was last the same as."""

    version: int
    digest: str


@dataclass
class DocumentFolder:
    """Documents in a folder, and what each was last the same as on the server."""

    root: Path
    standings: dict[str, KnownVersion] = field(default_factory=dict)

    @classmethod
    def at(cls, root: Path) -> "DocumentFolder":
        """The folder, which may still be to come; raises `InvalidInput` for a broken note."""
        note = root / VERSIONS
        if not note.is_file():
            return cls(root)
        try:
            read = json.loads(note.read_text("utf-8"))
            known = {str(path): KnownVersion(int(v), str(d)) for path, (v, d) in read.items()}
        except (ValueError, TypeError, AttributeError):
            raise InvalidInput(
                f"{note} can't be read: delete it, and say with --force that what is on the server "
                "may be written over"
            ) from None
        return cls(root, known)

    def documents(self, wanted: Iterable[DocumentId] = ()) -> dict[DocumentId, str]:
        """Their texts, of those that are wanted or of all; raises `InvalidInput`, `NotFound`."""
        chosen = [*wanted] or [*self._found()]
        return {each: self.text(each) for each in chosen}

    def _found(self) -> Iterable[DocumentId]:
        for kind in document_kinds():
            for path in sorted(self.root.glob(path_of(kind, "*"))):
                found = placed(PurePosixPath(path.relative_to(self.root).as_posix()))
                if found is not None:
                    yield DocumentId(*found)

    def text(self, document: DocumentId) -> str:
        """What its file says, to the byte."""
        path = self.root / document.path
        if not path.is_file():
            raise NotFound(f"{path} isn't there: name another document, or another folder")
        if document.kind == "skills" and (more := self._beside(path)):
            raise InvalidInput(
                f"{path} has files beside it, such as {more}, and a document has none: leave the "
                "skill in the house's folder of skills, or say in the instructions what they say"
            )
        raw = path.read_bytes()
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise InvalidInput(f"{path} is no text in UTF-8: save it as such") from None
        if len(raw) > LARGEST:
            raise InvalidInput(f"{path} has {len(raw)} bytes; {LARGEST} are the most")
        return text

    def _beside(self, path: Path) -> str:
        others = (each for each in sorted(path.parent.rglob("*")) if each.is_file())
        return next((each.name for each in others if each != path), "")

    def changed(self, document: DocumentId) -> bool:
        """Whether the file says something that it didn't when it was last the server's."""
        path, known = self.root / document.path, self.standings.get(document.path)
        return path.is_file() and (known is None or digest_of(self.text(document)) != known.digest)

    def write(self, document: DocumentId, text: str) -> None:
        """Let the file say this."""
        path = self.root / document.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def note(self, document: DocumentId, version: int, text: str) -> None:
        """Remember which version the file is the same as."""
        self.standings[document.path] = KnownVersion(version, digest_of(text))
        self.root.mkdir(parents=True, exist_ok=True)
        told = {path: [*each] for path, each in sorted(self.standings.items())}
        (self.root / VERSIONS).write_text(json.dumps(told, indent=1) + "\n", "utf-8")


async def pushed(
    rest: Rest, folder: DocumentFolder, wanted: Iterable[DocumentId], put: "PushOptions"
) -> list[str]:
    """A line for each document that was sent.

    A flow may start one that comes after it: whatever is refused is tried again behind the others.

    Raises:
        InvalidInput: once nothing more fits, with every refusal.
        RouterError: where it breaks off before, with why.
            Both say first what was sent until then, which stays.
    """
    lines, waiting = list[str](), folder.documents(wanted)
    heads = dict(_listed((await rest.get(API))["items"]))
    while waiting:
        refused: dict[DocumentId, Refused] = {}
        for document, text in waiting.items():
            try:
                lines.append(await _pushed(rest, folder, document, text, heads.get(document), put))
            except RouterError as error:
                if not isinstance(error, Refused) or error.status != REFUSED:
                    raise RouterError("\n".join([*lines, f"{document}: {error}"])) from error
                refused[document] = error
        if len(refused) == len(waiting):
            told = "\n".join(f"{document}: {error}" for document, error in refused.items())
            raise InvalidInput("\n".join([*lines, told]))
        waiting = {document: waiting[document] for document in refused}
    return lines


class PushOptions(NamedTuple):
    """How documents are sent."""

    note: str = ""
    activate: bool = True
    force: bool = False


async def _pushed(
    rest: Rest,
    folder: DocumentFolder,
    document: DocumentId,
    text: str,
    head: Mapping[str, Any] | None,
    put: PushOptions,
) -> str:
    known = folder.standings.get(document.path)
    body = {"text": text, "note": put.note, "activate": put.activate}
    headers = {}
    # Where there is none, as in a database that was made anew, there is nothing to write over.
    if head and (put.force or known):
        over = known.version if known and not put.force else head["latest"]
        headers["If-Match"] = f'"{over}"'
    done = await rest.put(document.api, body, headers)
    folder.note(document, done["version"], text)
    before = head["latest"] if head else 0
    state = "holds" if done["active"] == done["version"] else "is kept, and doesn't hold yet"
    said = f"version {done['version']} {state}" if done["version"] > before else "nothing new"
    return "\n".join([f"{document}: {said}", *(f"  remark: {each}" for each in done["remarks"])])


async def pulled(
    rest: Rest, folder: DocumentFolder, wanted: Iterable[DocumentId], *, force: bool
) -> list[str]:
    """A line for each document whose version that holds was written into the folder.

    Raises, before anything is written, `InvalidInput` where a file has changes of its own, and
    `NotFound` for a document that is wanted and is neither on the server nor in the folder.
    """
    there = {each: await _held(rest, each) for each in await _wanted(rest, folder, wanted)}
    lost = [
        folder.root / document.path
        for document, held in there.items()
        if folder.changed(document) and folder.text(document) != held["text"]
    ]
    if lost and not force:
        names = ", ".join(map(str, lost))
        raise InvalidInput(f"{names} has changes that aren't on the server: push them, or --force")
    lines = list[str]()
    for document, held in there.items():
        folder.write(document, held["text"])
        # Not the newest: whoever pushes over a version that wasn't pulled hasn't seen it.
        folder.note(document, held["version"], held["text"])
        lines.append(f"{document}: version {held['version']}")
        if held["latest"] > held["version"]:
            newer = f"version {held['latest']} is written and doesn't hold"
            lines.append(f"  {newer}: a push over it is refused, or takes --force")
    return lines


async def differences(
    rest: Rest, folder: DocumentFolder, wanted: Iterable[DocumentId]
) -> list[str]:
    """What the folder would change of what holds on the server, as unified differences.

    Raises `NotFound` for a document that is wanted and is neither on the server nor in the folder.
    """
    named = [*wanted]
    here = folder.documents(e for e in named if (folder.root / e.path).is_file() or not named)
    held = {each: (await _held(rest, each))["text"] for each in await _wanted(rest, folder, named)}
    lines = list[str]()
    for document in sorted({*here, *held}):
        before, after = held.get(document, ""), here.get(document, "")
        lines += difflib.unified_diff(
            before.splitlines(),
            after.splitlines(),
            f"server/{document.path}" if document in held else "/dev/null",
            f"{folder.root}/{document.path}" if document in here else "/dev/null",
            lineterm="",
        )
        if before != after and before.splitlines() == after.splitlines():
            lines.append(f"{document.path}: only line ends differ")
    return lines


async def _wanted(
    rest: Rest, folder: DocumentFolder, named: Iterable[DocumentId]
) -> list[DocumentId]:
    """Those that are named, and otherwise all; of both the ones that hold."""
    chosen, found = {*named}, (await rest.get(API))["items"]
    holding = [each for each, head in _listed(found) if head.get("active") is not None]
    nowhere = [
        e for e in sorted(chosen.difference(holding)) if not (folder.root / e.path).is_file()
    ]
    if nowhere:
        raise NotFound(
            f"{', '.join(map(str, nowhere))}: no version holds on the server, and there is no such "
            f"file in {folder.root}; `intent-router config list` says what there is"
        )
    return [each for each in holding if not chosen or each in chosen]


def _listed(
    items: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[DocumentId, Mapping[str, Any]]]:
    """The documents of a server's list, without what has no place in a folder."""
    for each in items:
        # A newer server may have other kinds; whatever else it says, no file is written elsewhere.
        with suppress(InvalidInput):
            yield DocumentId.read(f"{each.get('kind')}/{each.get('name')}"), each


async def _held(rest: Rest, document: DocumentId) -> dict[str, Any]:
    return await rest.get(document.api)


app = typer.Typer(no_args_is_help=True)


@app.callback()
def register_kinds() -> None:
    """Move documents of configuration between a folder and a server."""
    load_configured(Settings.load()).collect(register_configuration_kinds)


FolderArgument = Annotated[
    Path, typer.Argument(help="With flows/, skills/, tools/ and personas/ in it.")
]
DocumentsArgument = Annotated[
    list[str] | None, typer.Argument(metavar="[KIND/NAME]...", help="Such as flows/overtime.")
]


def _ids(written: list[str] | None) -> list[DocumentId]:
    return [DocumentId.read(each) for each in written or []]


@app.command()
def push(  # noqa: PLR0913, PLR0917 - each is an option
    folder: FolderArgument,
    documents: DocumentsArgument = None,
    note: Annotated[str, typer.Option(help="Why, for whoever reads the history.")] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Let no new version hold yet.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Over what others wrote, too.")] = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Send documents of a folder; each that fits holds at once, within seconds everywhere."""
    put = PushOptions(note, not draft, force)
    there, wanted = DocumentFolder.at(folder), _ids(documents)
    lines = asyncio.run(asked(url, token or user, lambda rest: pushed(rest, there, wanted, put)))
    _echo(lines or [f"there are no documents in {folder}"])


@app.command()
def pull(
    folder: FolderArgument,
    documents: DocumentsArgument = None,
    force: Annotated[bool, typer.Option("--force", help="Over changes in the files, too.")] = False,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Write the documents that hold into a folder, to the byte as they were pushed."""
    there, wanted = DocumentFolder.at(folder), _ids(documents)
    found = asyncio.run(
        asked(url, token or user, lambda rest: pulled(rest, there, wanted, force=force))
    )
    _echo(found or ["the server has no documents that hold"])


@app.command()
def diff(
    folder: FolderArgument,
    documents: DocumentsArgument = None,
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Say what a push of the folder would change; exit status 1 where that is anything."""
    there, wanted = DocumentFolder.at(folder), _ids(documents)
    found = asyncio.run(asked(url, token or user, lambda rest: differences(rest, there, wanted)))
    _echo(found)
    if found:
        raise typer.Exit(1)


@app.command("list")
def listing(user: UserOption = OPERATOR, url: Url = None, token: TokenOption = None) -> None:
    """List the server's documents: which version of each holds or is to, and who wrote it."""
    found = asyncio.run(asked(url, token or user, lambda rest: rest.get(API)))
    echo_aligned([HEADINGS, *map(row_of, found["items"])])
    if found["unfit"]:
        raise RouterError(f"these can't be taken up as they are: {found['unfit']}")


HEADINGS = ("document", "holds", "to come", "newest", "by", "written")


def row_of(head: Mapping[str, Any]) -> tuple[str, ...]:
    """A document as a line of the list, with what a share of people has and what is to hold.

    >>> head = {"kind": "flows", "name": "overtime", "active": 1, "latest": 2, "author": "anna"}
    >>> row_of({**head, "shared": 2, "share": 10, "written_at": "2026-11-23T09:00:00Z"})
    ('flows/overtime', '1, 2 for 10 %', '-', '2', 'anna', '2026-11-23T09:00')
    """
    holds = _number(head["active"])
    if head.get("share") is not None:
        holds += f", {_number(head['shared'])} for {head['share']} %"
    coming, moment = "-", head.get("upcoming_from")
    if moment is not None:
        coming = f"{_number(head['upcoming'])} from {moment[:16]}"
    name, written = f"{head['kind']}/{head['name']}", head["written_at"][:16]
    return (name, holds, coming, str(head["latest"]), head["author"], written)


def _number(version: int | None) -> str:
    return "none" if version is None else str(version)


@app.command()
def rollback(
    document: Annotated[str, typer.Argument(metavar="KIND/NAME", help="Such as flows/overtime.")],
    version: Annotated[int, typer.Argument(min=1, help="The version that is to hold.")],
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Let an earlier version hold again, or a newer one that was only written."""
    path = f"{DocumentId.read(document).api}/activate"
    body = {"version": version}
    done = asyncio.run(asked(url, token or user, lambda rest: rest.post(path, body)))
    _echo([f"{document}: version {done['active']} holds"])


@app.command()
def retire(
    document: Annotated[str, typer.Argument(metavar="KIND/NAME", help="Such as flows/overtime.")],
    user: UserOption = OPERATOR,
    url: Url = None,
    token: TokenOption = None,
) -> None:
    """Take a document out of use; its versions stay, and a file of its name counts again."""
    path = DocumentId.read(document).api
    asyncio.run(asked(url, token or user, lambda rest: rest.delete(path)))
    _echo([f"{document}: no version holds"])


def _echo(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(line)
