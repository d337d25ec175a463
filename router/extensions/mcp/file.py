"""The file of MCP servers: which there are, and what the operator allows of each.

A file that other clients read, with `mcpServers` around it, is read as well. A fault of form
refuses the file; a variable that isn't set only keeps the server away that needs it. A server's
tools are called `<server>__<tool>` here, in letters that models may use.
"""

import hashlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from router.domain.errors import DefinitionError, Fault, FaultyValue, Problem, nearest
from router.domain.locale import Localised
from router.domain.principals import EVERYONE
from router.extensions.mcp.untrusted import LONGEST_DESCRIPTION
from router.formats.strict_json import json_document
from router.formats.validation import Complaint, Entry, FileWording, problems_in, validated
from router.formats.yaml_document import Place, Unreadable, read_text
from router.outbound.guard import OutboundGuard
from router.tool.context_values import CONTEXT_VALUES
from router.tool.labels import LONGEST, is_label
from router.tool.tool import DURATION, Permission, seconds_of

_log = logging.getLogger("router.mcp")

BETWEEN = "__"
LONGEST_NAME = 64

SERVER = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")
"""No two underscores in a row and none at the end: so the first two end the server's name."""
LONGEST_SERVER = 24

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")


def names(server: str, tools: Iterable[str]) -> dict[str, str]:
    """The name here of each of a server's tools, by the tool's own name.

    Two tools never share one: where making names safe would give both the same, a digest of its
    own name is put behind that which had to be changed, as in `files__read_all_4a2b2cdf`.
    """
    found: dict[str, str] = {}
    for tool in sorted(set(tools), key=lambda n: (_safe(server, n) != prefix_of(server) + n, n)):
        name = _safe(server, tool)
        found[tool] = _marked(name, tool) if name in found.values() else name
    return found


def _safe(server: str, tool: str) -> str:
    name = _UNSAFE.sub("_", prefix_of(server) + tool)
    return name if len(name) <= LONGEST_NAME else _marked(name, tool)


def _marked(name: str, tool: str) -> str:
    mark = f"_{hashlib.sha256(tool.encode(errors='replace')).hexdigest()[:8]}"
    return f"{name[: LONGEST_NAME - len(mark)]}{mark}"


LARGEST = 256 * 1024
_VARIABLE = re.compile(r"\{env\.([A-Za-z_][A-Za-z0-9_]*)\}")
SCHEMA = "$schema"
"""A key for editors, which says nothing to us."""
_FILLED = {"url", "headers", "env"}
"""Where `{env.NAME}` stands for a variable; not in `args`, which everybody here can read."""


def _duration(written: object) -> object:
    seconds = seconds_of(written) if isinstance(written, str) else 0.0
    if not seconds:
        raise ValueError('write it like "500ms", "20s" or "2m"')
    return timedelta(seconds=seconds)


DurationField = Annotated[
    timedelta,
    BeforeValidator(
        _duration, json_schema_input_type=Annotated[str, Field(pattern=f"^{DURATION}$")]
    ),
]


def _label(written: str) -> str:
    if not is_label(written):
        raise ValueError(f"write up to {LONGEST} characters, on one line")
    return written.strip()


LabelField = Annotated[str, AfterValidator(_label)]


def _context_name(written: str) -> str:
    if written not in CONTEXT_VALUES:
        remedy = nearest(written, CONTEXT_VALUES) or f"there are: {', '.join(CONTEXT_VALUES)}"
        raise FaultyValue(f"there is no {written[:48]!r} in the context of a call", remedy)
    return written


ContextName = Annotated[str, AfterValidator(_context_name)]


class ToolEntry(Entry):
    """What the operator says about one tool of a server, under the tool's own name."""

    permission: Permission | None = None
    """`write` where it isn't said, whatever the server says of itself."""
    title: Localised | None = None
    """Its name for people."""
    description_zh: Annotated[str, Field(max_length=LONGEST_DESCRIPTION)] = ""
    """What people who are addressed in Chinese read, beside what the server says."""
    labels: Mapping[str, LabelField] = {}
    """What a Chinese form calls its arguments, by their names."""
    examples: tuple[str, ...] = ()
    """Sentences of people who mean it: it is found by them."""
    roles: frozenset[str] | None = None
    """Who may call it; None is whoever may use the server."""
    confirm: bool = False
    """Ask the caller before a `read` too."""
    idempotent: bool = False
    """True where calling it twice with the same arguments is the same as calling it once."""
    timeout: DurationField | None = None
    """How long one try may take; None: as long as the server's calls."""
    retries: Annotated[int, Field(ge=0, le=10)] = 3
    """How often a call is tried again that failed for the moment."""

    @model_validator(mode="after")
    def _admins_are_named(self) -> Self:
        if self.permission == "admin" and (not self.roles or EVERYONE in self.roles):
            raise ValueError('a tool that changes what is others\' names who may: "roles": ["hr"]')
        return self


class ServerEntry(Entry):
    """A server: a program that is started, or an address that is called."""

    model_config = ConfigDict(validate_by_name=True)

    command: str | None = None
    """The program that is started; or `url`."""
    args: tuple[str, ...] = ()
    """What it is started with."""
    env: Mapping[str, str] = Field({}, repr=False)
    """All that the program gets of the environment, beside PATH, HOME and LANG."""
    cwd: Path | None = None
    """Where it is started."""
    url: Annotated[str, Field(pattern=r"^(https?://[^/\s]+|\{env\.\w+\})")] | None = Field(
        None, repr=False
    )
    """Its streamable HTTP address; or `command`."""
    headers: Mapping[str, str] = Field({}, repr=False)
    """What is sent with every request."""
    type: Literal["stdio", "http", "streamable-http"] | None = None
    """Read for the sake of files from elsewhere: `command` and `url` say it already."""
    protocol: Literal["auto", "legacy"] = "auto"
    """`legacy` opens the session by the handshake of the versions before 2026-07-28: only then may
    a server ask something back while it works, as one does whose code calls `ctx.elicit`."""
    disabled: bool = False
    """True leaves it out."""
    fallback: str | None = None
    """The server that is asked for the same tool while this one is away."""
    roles: frozenset[str] = frozenset()
    """Who may use it; empty for everyone."""
    timeout: DurationField = timedelta(seconds=20)
    """How long one call may take."""
    calls: Annotated[int, Field(ge=1, le=100)] = 4
    """How many calls it gets at once; more wait."""
    context: tuple[ContextName, ...] = ()
    """What each call of a tool says about its caller, such as `user_id`, in `_meta` under
    `intent-router/context`. No model sees or sets it."""
    tools: Mapping[str, ToolEntry] = {}
    """What is said of single tools, by the name that the server gives them."""
    only: frozenset[str] | None = None
    """Its only tools that are offered; None is all."""
    besides: frozenset[str] = Field(frozenset(), alias="except")
    """Its tools that aren't offered."""

    @model_validator(mode="after")
    def _one_way_to_reach_it(self) -> Self:
        if (self.command is None) == (self.url is None):
            raise ValueError('write one of the two: "command" to start it, "url" to call it')
        return self

    @property
    def lacks(self) -> Fault | None:
        """Why it isn't there whatever it does: the variables that it names and nobody has set."""
        texts = [self.url or "", *self.headers.values(), *self.env.values()]
        unset = sorted({name for text in texts for name in _VARIABLE.findall(text)})
        if not unset:
            return None
        is_not, it = ("isn't", "it") if len(unset) == 1 else ("aren't", "them")
        return Fault(f"{', '.join(unset)} {is_not} set", f"set {it} in the environment or in .env")

    def offers(self, tool: str) -> bool:
        """True where its tool of this name is offered."""
        return (self.only is None or tool in self.only) and tool not in self.besides

    def entry(self, tool: str) -> ToolEntry:
        """What the file says about the tool."""
        return self.tools.get(tool, ToolEntry())


_OBJECT = 'Input should be an object, such as {"command": …}'
_WORDING = FileWording("there is no key {key}", mapping="{key} can't be used", write=_OBJECT)


def load_servers(path: Path, variables: Mapping[str, str]) -> dict[str, ServerEntry]:
    """The servers of a file, less those that are disabled, by name, with `{env.NAME}` filled in.

    Raises `DefinitionError` with every problem.
    """
    try:
        text = read_text(path, LARGEST, _FEWER)
    except Unreadable as bad:
        raise DefinitionError([Problem(str(path), bad.line, *bad.fault)]) from None
    return servers_in_text(path, text, variables)


_FEWER = "split it, or offer fewer servers"


def servers_in_text(
    path: Path, text: str, variables: Mapping[str, str], guard: OutboundGuard | None = None
) -> dict[str, ServerEntry]:
    """Those of a text, of which `path` is what is said; raises the same.

    With a `guard` its author isn't the operator of the house: then servers are addresses that the
    guard lets out, and no program is started.
    """
    if len(text.encode()) > LARGEST:
        raise DefinitionError([Problem(str(path), 1, f"it is over {LARGEST // 1024} KiB", _FEWER)])
    try:
        document = json_document(text)
        data = _servers_in(document.data)
    except Unreadable as bad:
        raise DefinitionError([Problem(str(path), bad.line, *bad.fault)]) from None
    data.pop(SCHEMA, None)
    around: Place = ("mcpServers",) if set(data) == {"mcpServers"} else ()
    servers = data["mcpServers"] if around else data
    for entry in servers.values():
        for key in entry.keys() & _FILLED if isinstance(entry, dict) else ():
            entry[key] = _filled(entry[key], variables)
    readings = {n: validated(ServerEntry, e, (*around, n), _WORDING) for n, e in servers.items()}
    found = {name: each.value for name, each in readings.items() if each.value and each.is_sound}
    complaints = [each for reading in readings.values() for each in reading.complaints]
    problems = problems_in(str(path), document, [*complaints, *_unfit(found, around, guard)])
    if problems:
        raise DefinitionError(problems)
    return {name: entry for name, entry in found.items() if not entry.disabled}


def _servers_in(data: Any) -> dict[str, Any]:
    inner = data.get("mcpServers", {}) if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(inner, dict):
        remedy = 'write {"name": {"command": …}}'
        raise Unreadable(1, Fault("it holds no servers by name", remedy))
    return data


def _filled(value: Any, variables: Mapping[str, str]) -> Any:
    """With variables in the place of their names; those that aren't set stay as written."""
    if isinstance(value, dict):
        return {key: _filled(inner, variables) for key, inner in value.items()}
    if not isinstance(value, str):
        return value
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), value)


def _unfit(
    servers: dict[str, ServerEntry], around: Place, guard: OutboundGuard | None
) -> Iterator[Complaint]:
    """What is wrong with the names of servers, those that stand in for another, and their ways."""
    for name, entry in servers.items():
        if guard is not None and (barred := _barred(entry, guard)):
            yield Complaint((*around, name, "url" if entry.url else "command"), barred)
        if not SERVER.fullmatch(name) or len(name) > LONGEST_SERVER:
            remedy = f"up to {LONGEST_SERVER} small letters and digits, with single _ or - between"
            fault = Fault(f"a server can't be called {name!r}", f"use {remedy}")
            yield Complaint((*around, name), fault)
        other = entry.fallback
        if other is not None and (other == name or other not in servers):
            remedy = nearest(other, set(servers) - {name}) or "name another server here"
            fault = Fault(f"there is no other server {other}", remedy)
            yield Complaint((*around, name, "fallback"), fault)


def _barred(entry: ServerEntry, guard: OutboundGuard) -> Fault | None:
    if entry.url is None:
        return Fault("no program is started for a document", 'write the server\'s "url"')
    return entry.lacks or guard.fault_of(entry.url)


def group_of(server: str) -> str:
    """The registry's group of a server's tools."""
    return f"the MCP server {server}"


def prefix_of(server: str) -> str:
    """What the names of a server's tools begin with."""
    return f"{server}{BETWEEN}"
