"""Documents of configuration of the caller's own tenant: flows, skills, declared tools, persona.

An author writes versions, an operator lets one of them hold; what doesn't fit what there is beside
it is refused with every problem, and changes nothing. Every process takes it up within seconds.
"""

import re
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from router.api.dependencies import OPERATOR, Audited, Author, Given, Operator, Services
from router.api.errors import problems
from router.api.flow_reading import read_flow_text
from router.api.params import Note, StrictRoute
from router.domain.configuration_documents import (
    KIND_PATTERN,
    LARGEST,
    Activation,
    DocumentHead,
    DocumentKind,
    DocumentVersion,
    Examined,
    digest_of,
    document_kinds,
    is_name,
    path_of,
)
from router.domain.errors import (
    DefinitionError,
    FaultyValue,
    FieldProblem,
    Forbidden,
    InvalidInput,
    NotFound,
    Outdated,
)
from router.domain.locale import Localised
from router.domain.principals import Principal
from router.flow.validation.phrases import told

PREFIX = "/v1/configuration"
BODIES = {f"{PREFIX}/": 2 * LARGEST}
"""Bytes below that path: a text that is JSON within JSON takes more than itself."""
MOST_PROBLEMS = 50
NEWEST = 2**31 - 1
"""The highest number that a version may be asked for by: databases keep no higher one."""

router = APIRouter(prefix=PREFIX, tags=["operators"], route_class=StrictRoute)


class DocumentPage(BaseModel):
    """Every document of the tenant, without texts; there is never a next page."""

    items: list[DocumentHead]
    next: None = None
    unfit: str | None
    """What keeps the documents from being taken up as they are; what they were last goes on."""


class ConfigurationView(BaseModel):
    """One version of a document, and how the document stands."""

    kind: DocumentKind
    """`flows`, `skills`, `stories`, `personas`, or one that an extension adds, such as `tools`."""
    name: str
    version: int
    latest: int
    active: int | None
    """The version that holds; null: none does, and a file of that name counts."""
    digest: str
    text: str
    note: str
    author: str
    written_at: datetime
    remarks: list[str] = []
    """Of what was written just now, what might be better."""


class VersionView(BaseModel):
    """A version without its text."""

    version: int
    digest: str
    note: str
    author: str
    written_at: datetime


class ActivationView(BaseModel):
    """That a version was to hold from then on; null: none."""

    version: int | None
    activated_by: str
    activated_at: datetime
    holds_from: datetime | None
    """When it begins, where that isn't at once."""
    share: int
    """Of a hundred people, how many have it."""
    taken_back_by: str | None
    taken_back_at: datetime | None
    """Not null: it counts no more."""


class DocumentHistory(BaseModel):
    """All versions and activations of a document, the newest first."""

    versions: list[VersionView]
    activations: list[ActivationView]


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("it has the character U+0000, which no database keeps")
    if (size := len(text.encode())) > LARGEST:
        raise FaultyValue(f"it has {size} bytes", f"{LARGEST} are the most")
    return text


DocumentText = Annotated[
    str,
    AfterValidator(_storable),
    WithJsonSchema({"type": "string", "maxLength": LARGEST, "pattern": "^[^\\x00]*$"}),
]


class DocumentBody(BaseModel):
    """A new version."""

    model_config = ConfigDict(extra="forbid")

    text: DocumentText
    """Exactly what would stand in the file."""
    note: Note = ""
    activate: Annotated[bool, Field(strict=True)] = True
    """Whether it holds at once; an author alone writes false."""


class ActivationBody(BaseModel):
    """Which version is to hold."""

    model_config = ConfigDict(extra="forbid")

    version: Annotated[int, Field(strict=True, ge=1, le=NEWEST)]


_ETAG = re.compile(r'"([1-9][0-9]{0,8})"')

IfMatch = Annotated[
    Annotated[str, WithJsonSchema({"type": "string", "pattern": f"^{_ETAG.pattern}$"})]
    | SkipJsonSchema[None],
    Header(
        description='The newest version as it was read, such as `"3"`; none for a new document.'
    ),
]


_NOT_THERE = Localised(zh="没有这份配置。", en="There is no such document.")


async def _named(
    services: Given, author: Author, kind: str, document: str
) -> tuple[DocumentKind, str]:
    # A document of a kind that nobody has any more can be read and retired.
    known = _is_kind(services, kind) or (
        re.fullmatch(KIND_PATTERN, kind) is not None
        and is_name(kind, document)
        and await services.store.configuration.head(author.tenant, kind, document) is not None
    )
    if not known or not is_name(kind, document):
        raise NotFound(_NOT_THERE)
    return kind, document


def _is_kind(services: Services, kind: str) -> bool:
    return kind in document_kinds() or kind in services.configuration.installed_kinds


NamedDocument = Annotated[tuple[DocumentKind, str], Depends(_named)]
"""The kind and the name in the path; 404 where no document can be called so."""


@router.get("", responses=problems(404))
async def index(services: Given, author: Author, kind: DocumentKind | None = None) -> DocumentPage:
    """List the tenant's documents, those of one kind or all, with which version of each holds."""
    if kind is not None and not _is_kind(services, kind):
        raise InvalidInput.at("kind", f"choose one of {', '.join(document_kinds())}")
    found = await services.store.configuration.heads(author.tenant, kind)
    return DocumentPage(items=found, unfit=services.configuration.unfit.get(author.tenant))


@router.get("/{kind}/{document}", responses=problems(404))
async def show(
    services: Given,
    author: Author,
    named: NamedDocument,
    response: Response,
    version: Annotated[int | None, Query(ge=1, le=NEWEST)] = None,
) -> ConfigurationView:
    """Show a document: the version that is asked for, else the one that holds, else the newest."""
    head = await _head(services, author, *named)
    found = await _version(services, author, head, version or head.active or head.latest)
    return _answer(response, head, found)


@router.get("/{kind}/{document}/versions", responses=problems(404))
async def history(services: Given, author: Author, named: NamedDocument) -> DocumentHistory:
    """List who wrote which versions of a document, and which of them held since when."""
    await _head(services, author, *named)
    kept = services.store.configuration
    written = await kept.versions(author.tenant, *named)
    held = await kept.activations(author.tenant, *named)
    return DocumentHistory(
        versions=[VersionView.model_validate(dict(each)) for each in reversed(written)],
        activations=[ActivationView.model_validate(dict(each)) for each in reversed(held)],
    )


@router.put("/{kind}/{document}", responses=problems(400, 403, 404, 409, 412, 413, 415))
async def put(
    services: Given,
    author: Author,
    named: NamedDocument,
    body: DocumentBody,
    audit: Audited,
    response: Response,
    if_match: IfMatch = None,
) -> ConfigurationView:
    """Write a new version of a document, and let it hold at once unless `activate` is false.

    Where the text is the newest version's already, no other is made of it.
    """
    over = _over(if_match)
    if body.activate and OPERATOR not in author.roles:
        raise Forbidden(_NOT_ALONE)
    head = await services.store.configuration.head(author.tenant, *named)
    if head is not None and await _says(services, author, head, body.text):
        if body.activate and not head.holds(head.latest):
            return await _activated(services, author, audit, response, head, head.latest)
        return _answer(response, head, await _version(services, author, head, head.latest))
    if over != (head.latest if head else 0):
        raise Outdated(_changed(head.latest if head else None))
    examined = await examined_document(services, author, *named, body.text)
    made = DocumentVersion(
        tenant=author.tenant,
        kind=named[0],
        name=named[1],
        version=over + 1,
        digest=digest_of(body.text),
        text=body.text,
        note=body.note,
        author=author.id,
        written_at=datetime.now(UTC),
        flow_version=examined.flow_version,
        behaviour=examined.behaviour,
    )
    detail = f"version {made.version}{'' if body.activate else ', not to hold yet'}"
    await audit.note("configuration.write", made.path, reason=body.note, detail=detail)
    await services.store.configuration.write(made, examined.mark if body.activate else None)
    await services.configuration.refresh()
    after = await _head(services, author, *named)
    return _answer(response, after, made, list(map(str, examined.remarks)))


@router.post("/{kind}/{document}/activate", responses=problems(400, 404, 409, 412, 413, 415))
async def activate(
    services: Given,
    operator: Operator,
    named: NamedDocument,
    body: ActivationBody,
    audit: Audited,
    response: Response,
) -> ConfigurationView:
    """Let a version hold: a newer one that was only written, or an earlier one again."""
    head = await _head(services, operator, *named)
    return await _activated(services, operator, audit, response, head, body.version)


@router.delete("/{kind}/{document}", responses=problems(404, 409, 412))
async def retire(
    services: Given, operator: Operator, named: NamedDocument, audit: Audited
) -> DocumentHead:
    """Take a document out of use; its versions stay, and a file of its name counts again."""
    head = await _head(services, operator, *named)
    if head.holds(None):
        return head
    examined = await examined_document(services, operator, *named, None)
    detail = f"version {head.active} ▸ none"
    await audit.note("configuration.retire", path_of(*named), detail=detail)
    await _hold(services, operator, head, None, examined)
    return await _head(services, operator, *named)


async def _activated(
    services: Services,
    operator: Principal,
    audit: Audited,
    response: Response,
    head: DocumentHead,
    version: int,
) -> ConfigurationView:
    wanted = await _version(services, operator, head, version)
    examined = await examined_document(services, operator, head.kind, head.name, wanted.text)
    if not head.holds(version):
        detail = f"version {head.active or 'none'} ▸ {version}"
        await audit.note("configuration.activate", wanted.path, detail=detail)
        await _hold(services, operator, head, version, examined)
    after = await _head(services, operator, head.kind, head.name)
    return _answer(response, after, wanted, list(map(str, examined.remarks)))


async def _hold(
    services: Services,
    operator: Principal,
    head: DocumentHead,
    version: int | None,
    examined: Examined,
) -> None:
    wanted = Activation(
        tenant=operator.tenant,
        kind=head.kind,
        name=head.name,
        version=version,
        activated_by=operator.id,
        activated_at=datetime.now(UTC),
    )
    await services.store.configuration.activate(wanted, examined.mark)
    await services.configuration.refresh()


def _over(if_match: str | None) -> int:
    """The version that was read before this one was written; 0: there was none."""
    if if_match is None:
        return 0
    found = _ETAG.fullmatch(if_match.strip())
    if found is None:
        raise InvalidInput.at("If-Match", 'write the newest version in quotes, such as "3"')
    return int(found[1])


async def _head(
    services: Services, reader: Principal, kind: DocumentKind, name: str
) -> DocumentHead:
    head = await services.store.configuration.head(reader.tenant, kind, name)
    if head is None:
        raise NotFound(_NOT_THERE)
    return head


async def _version(
    services: Services, reader: Principal, head: DocumentHead, version: int
) -> DocumentVersion:
    kept = services.store.configuration
    found = await kept.find(reader.tenant, head.kind, head.name, version)
    if found is None:
        zh = f"没有第 {version} 版，最新的是第 {head.latest} 版。"
        raise NotFound(
            Localised(zh=zh, en=f"There is no version {version}; the newest is {head.latest}.")
        )
    return found


async def _says(services: Services, reader: Principal, head: DocumentHead, text: str) -> bool:
    return (await _version(services, reader, head, head.latest)).digest == digest_of(text)


async def examined_document(
    services: Services, author: Principal, kind: DocumentKind, name: str, text: str | None
) -> Examined:
    """What is found; `InvalidInput` with every problem, each with its file and line.

    What it takes to read a flow is found out in a child process, before this one reads it.
    """
    if kind == "flows" and text is not None:
        known, path = services.configuration.vocabulary(author.tenant), path_of(kind, name)
        await services.isolated_work.run(author, read_flow_text, path, text, known)
    try:
        return await services.configuration.examine(author.tenant, kind, name, text)
    except DefinitionError as error:
        found = [
            FieldProblem.of(f"{each.file}:{each.line}", told(each.what, each.remedy))
            for each in error.problems[:MOST_PROBLEMS]
        ]
        count, path = len(error.problems), path_of(kind, name)
        zh = f"{path} 不能这样用，有 {count} 处问题；什么都没有改变。"
        en = f"{path} can't be so, for {count} reason{'s' * (count > 1)}; nothing was changed."
        raise InvalidInput(Localised(zh=zh, en=en), found) from None


def _answer(
    response: Response, head: DocumentHead, shown: DocumentVersion, remarks: list[str] | None = None
) -> ConfigurationView:
    response.headers["ETag"] = f'"{head.latest}"'
    return ConfigurationView(
        **shown.model_dump(include=ConfigurationView.model_fields.keys() & dict(shown).keys()),
        latest=head.latest,
        active=head.active,
        remarks=remarks or [],
    )


_NOT_ALONE = Localised(
    zh="作者写下版本，由管理员启用：请写 activate: false。",
    en="An author writes versions, an operator lets them hold: write activate: false.",
)


def _changed(latest: int | None) -> Localised:
    if latest is None:
        return Localised(
            zh="还没有这份配置，没有可以改的版本：去掉 If-Match。",
            en="There is no such document yet, and no version to write over: leave If-Match out.",
        )
    zh = f'最新的是第 {latest} 版：先读它，再带 If-Match: "{latest}" 写。'
    en = f'The newest version is {latest}: read it, and send yours with If-Match: "{latest}".'
    return Localised(zh=zh, en=en)
