"""Tools: functions that people, models and flows may call, through the gate."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Generic, Literal, ParamSpec, TypeVar, get_args

from pydantic import JsonValue

from router.domain.durations import MAX_DURATION
from router.domain.errors import DefinitionError, Problem
from router.domain.locale import Locale, Localised
from router.domain.principals import EVERYONE, FLOW_ROLE, Capability
from router.domain.source_lines import SourceLine, calling_line, name_of, source_of
from router.formats.regex import CODED, refused
from router.tool.context import Dependencies, Provider, ToolContext
from router.tool.implementation import (
    Arguments,
    CheckFunction,
    FunctionImplementation,
    Implementation,
    ToolCheck,
    read_check,
)
from router.tool.labels import label_in
from router.tool.own_objects import MadeBy, made_by_in
from router.tool.signature import problem_of, read_signature

RESERVED = frozenset(
    (
        *("respond_message", "ask_clarification", "hand_off", "find_capabilities"),
        *("dispatch_to_flow", "dispatch_to_skill", "fill_slots", "amend_request", "cancel_flow"),
        *("ask_user", "say_missing", "done", "note", "hand_back", "hand_over"),
        "create_subagent",
        *("plan", "accept", "ask", "retry", "replan", "go_on"),
        *("understand", "decide", "phrase", "think", "condense", "reflect"),
        *("note_step", "structure", "answer", "cannot_answer"),
        *("tell_flow", "recall", "keep", "write", "look_up", "publish", "notify"),
        *("remember", "forget", "who_is_on_duty", "publish_hand_off"),
        *("read_document", "look_at_document", "wait_for_document", "documents_of", "step_flow"),
    )
)
"""A tool of such a name would be offered beside the function, or taken for the activity."""

TAKEN = "has a name that means something else to models or workers"
ANOTHER = "give it another name: what it does, as in find_rooms"


def titled(name: str, given: Mapping[Locale, str] | None = None) -> Localised:
    """A title that has no problems; made from the tool's name where there is none."""
    words = name.replace("_", " ").replace("-", " ").capitalize()
    return Localised.model_validate(given or {"zh": words, "en": words})


Permission = Literal["read", "write", "admin"]
P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_CHINESE = re.compile("[\u4e00-\u9fff]")
DURATION = r"([0-9]+(?:\.[0-9]+)?)(ms|s|m)"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


@dataclass(frozen=True)
class ToolOptions:
    """How a tool is called and its result told, as `tool` describes it, beyond what all have."""

    cache: timedelta = timedelta()
    ephemeral: int = 0
    return_direct: bool = False
    client: bool = False
    per_minute: int | None = 60
    at_once: int | None = None
    pool: str = ""
    """Tools of the same one share their `at_once`, as those of one server do; otherwise it's the
    tool's own."""
    system: str = ""
    """What stands behind it, and maybe behind others; where nothing is named it stands alone."""
    listed: bool = True
    suggested: bool = False
    request: bool = True
    undoes: str = ""
    approval: bool = False
    """Only runs that somebody has approved may call it, with what was approved."""
    shared: timedelta = timedelta()
    """How long an answer that was made of its results alone may be given to others; zero never."""


@dataclass(frozen=True, eq=False)
class Tool:
    """One tool. A tool that is declared anew is another, however alike the two are."""

    name: str
    title: Localised
    description: str
    examples: tuple[str, ...]
    """What people say who mean this tool, in either language: retrieval learns from it."""
    permission: Permission
    roles: frozenset[str]
    """Who may call it: whoever holds one of them. Everyone where there are none."""
    confirm: bool
    idempotent: bool
    """True where calling twice with one key is the same as calling once."""
    timeout: timedelta
    retries: int | None
    """How often a call that failed for the moment is tried again; None: until it works."""
    implementation: Implementation
    source: SourceLine
    options: ToolOptions = ToolOptions()
    description_zh: str = ""
    """What people who are addressed in Chinese read; the description where there is none."""
    check: ToolCheck | None = None
    """Its own rules, which are asked before anybody is asked to confirm."""
    phrases: tuple[str, ...] = ()
    """RE2: whole messages that ask for it by themselves, whatever is retrieved."""

    @property
    def writes(self) -> bool:
        """True where it changes something: it needs a key and goes through the ledger."""
        return self.permission != "read"

    @property
    def asks_first(self) -> bool:
        """True where a person who calls it has to confirm the call."""
        return self.confirm or self.writes

    @property
    def outward(self) -> bool:
        """True where what it is given leaves the house, and a stranger says what comes back."""
        declared = self.implementation.kind != FunctionImplementation.kind
        return declared or any(each.outward for each in self.providers)

    @property
    def system(self) -> str:
        """What a call of it depends on, and what calls of others may: a server, or itself."""
        return self.options.system or self.name

    @property
    def parameters(self) -> dict[str, JsonValue]:
        """The JSON Schema of its arguments."""
        return self.implementation.parameters

    @cached_property
    def providers(self) -> frozenset[Provider[Any]]:
        """What has to be provided before it can be checked and called, and for that in turn."""
        checking = self.check.providers if self.check else frozenset[Provider[Any]]()
        own = self.implementation.providers | checking
        return own.union(*(each.all_needed for each in own))

    @cached_property
    def argument_names(self) -> frozenset[str]:
        """The names of its arguments."""
        return frozenset(self.parameters.get("properties") or {})  # type: ignore[arg-type]

    @cached_property
    def made_by(self) -> dict[str, MadeBy]:
        """By argument that names an object of the run's own, which call makes that object."""
        properties = self.parameters.get("properties")
        arguments = properties if isinstance(properties, dict) else {}
        marks = {n: made_by_in(each) for n, each in arguments.items() if isinstance(each, dict)}
        return {name: mark for name, mark in marks.items() if mark is not None}

    @cached_property
    def defaults(self) -> dict[str, JsonValue]:
        """What its arguments are that nobody gives."""
        return dict(self.implementation.defaults)

    @property
    def about(self) -> Localised:
        """What it does, as people read it."""
        return Localised(zh=self.description_zh or self.description, en=self.description)

    @property
    def in_english_only(self) -> list[str]:
        """`title`, `description` and the arguments that have no Chinese words."""
        properties = self.parameters.get("properties")
        arguments = properties if isinstance(properties, dict) else {}
        words = {"title": self.title.zh, "description": self.about.zh}
        return [
            *(name for name, said in words.items() if not _CHINESE.search(said)),
            *(n for n, each in arguments.items() if isinstance(each, dict) and not label_in(each)),
        ]

    @cached_property
    def capability(self) -> Capability:
        """How it is listed and found."""
        return Capability(
            kind="tool",
            name=self.name,
            title=self.title,
            description=self.about,
            examples=self.examples,
            roles=self.roles,
            permission=self.permission,
            parameters=self.parameters,
            client=self.options.client,
            suggested=self.options.suggested,
        )

    async def call(
        self, arguments: Arguments, context: ToolContext, dependencies: Dependencies
    ) -> JsonValue:
        """Its result as JSON, for a call that has passed `router.tool.gate`: nobody checks here."""
        return await self.implementation.call(arguments, context, dependencies)


@dataclass(frozen=True, eq=False)
class FunctionTool(Tool, Generic[P, R]):
    """A tool of a function, which can still be called as that function, without the gate."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function that was decorated, as it was."""
        return self.__wrapped__(*args, **kwargs)

    @property
    def __wrapped__(self) -> Callable[P, R]:
        """The function that was decorated; `inspect.signature` looks for it under this name."""
        made = self.implementation
        assert isinstance(made, FunctionImplementation)  # noqa: S101 - `tool` makes it so
        return made.function


def tool(  # noqa: PLR0913 - each is an option of its own that a tool's author may name
    description: str = "",
    /,
    *,
    permission: Permission = "",  # type: ignore[assignment]  # refused, in a sentence
    name: str = "",
    confirm: bool = False,
    idempotent: bool = True,
    timeout: str = "10s",
    retries: int | None = 3,
    cache: str = "0s",
    ephemeral: int = 0,
    return_direct: bool = False,
    client: bool = False,
    per_minute: int | None = 60,
    at_once: int | None = None,
    listed: bool = True,
    suggested: bool = False,
    request: bool = True,
    undoes: str = "",
    approval: bool = False,
    shared: str = "0s",
    check: CheckFunction | None = None,
    roles: Sequence[str] = (),
    title: Mapping[Literal["zh", "en"], str] | None = None,
    description_zh: str = "",
    examples: Sequence[str] = (),
    phrases: Sequence[str] = (),
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]:
    """Make a tool of a function, under the function's name.

    Its parameters are the tool's, described by `Annotated[…, Field(description="…")]`; one of
    type `ToolContext` and those marked `Depends` are filled in and shown to nobody.
    `ChineseLabel("…")` after a `Field` is what a form calls the parameter in Chinese. A function
    that isn't `async def` is called in a thread of its own. It can be called as before.

    Args:
        description: What it does, as people and models read it; its docstring if left out.
        permission: `read` changes nothing; `write` changes something of the caller's, once
            the caller has confirmed it; `admin` changes what is others', and names its roles.
        name: What it is called, if not as the function.
        confirm: Ask the caller before a `read` too.
        idempotent: Whether a write honours `ctx.key`: called again with the same key it does
            nothing and gives the same result. One that doesn't is never called twice; where
            its outcome can't be known, that is what is reported.
        timeout: How long one try may take: "500ms", "10s", "2m".
        retries: How often a call is tried again that failed for the moment; None tries until
            it works, as a flow may want that has a promise to keep.
        cache: How long a read's result may be given again, by caller and arguments; "0s" never.
        ephemeral: How many of its last results a sub-agent's model sees whole; 0 all of them.
        return_direct: Its result is the answer as it is, with no model to put it into words.
        client: The front end makes the call: the function is only its signature, and the turn
            ends with the call waiting until the result is sent.
        per_minute: How often one person may have it called in a minute. Flows may always.
        listed: False where nobody asks for it by itself: people and the router are never offered
            it, and a sub-agent may call it whatever its skill allows.
        suggested: Its examples are among what people are shown to begin with, as those of flows
            are.
        request: False where its form isn't among somebody's requests: it is about one of them.
        undoes: The tool that it takes back a call of, whose key is `ctx.undoes` and required.
        approval: True if only flows may call it, and only while somebody other than the requester
            has approved the slots that the run holds. Flow files that reach it in another way are
            refused when they are loaded.
        shared: How long a model's answer that is made of its results alone may be given to
            whoever asks the same and may use it; "0s" never. For what is the same for everyone,
            such as policies: nothing in a result may depend on who calls or when. What it is given
            by `Depends` may have a `version`: where that is another one, nothing old is given.
        check: An asynchronous function with some of the tool's parameters, by their names, and
            `ToolContext` and `Depends` as it likes. It raises where the call would be refused
            for what the world is like, and is asked before the caller is asked to confirm, and
            again in the call.
        at_once: How many calls may run at once in a worker; others wait. None is no limit.
        roles: Who may call it, where not everyone may. `["flow"]` is reached by flows alone.
        title: Its name for people; made from the function's name where it is left out.
        description_zh: The docstring's gist in Chinese, for those who are addressed so.
        examples: Sentences of people who mean it, zh and en: it is found by them.
        phrases: RE2, searched in the normalised message like flows' patterns. What has one of
            them asks for this tool, where it starts no flow: a read without required arguments
            is called at once, any other starts its form. Named groups prefill arguments. They
            are overruled by nothing, so write them for the whole message: "^…$".

    Raises:
        DefinitionError: The function can't be a tool; says why, and what would be right.

    Example:
        >>> @tool(permission="read", title={"zh": "加法", "en": "Addition"})
        ... async def add(one: int, other: int) -> int:
        ...     '''The sum of two integers.'''
        ...     return one + other
        >>> sorted(add.parameters["properties"])
        ['one', 'other']
    """
    _check_types(locals())
    options = ToolOptions(
        **_spans(cache=cache, shared=shared),
        ephemeral=ephemeral,
        return_direct=return_direct,
        client=client,
        per_minute=per_minute,
        at_once=at_once,
        listed=listed,
        suggested=suggested,
        request=request,
        undoes=undoes,
        approval=approval,
    )

    def decorate(function: Callable[P, R]) -> FunctionTool[P, R]:
        called = name or name_of(function)
        faults = [
            *option_faults(called, permission, timeout, retries, roles),
            *_extra_faults(called, permission, (cache, shared), options, check),
            *_approval_faults(options, permission, roles),
            *word_faults(title, roles=roles, examples=examples, phrases=phrases),
        ]
        problems = [problem_of(function, *fault) for fault in faults]
        try:
            signature = read_signature(function, description)
            rules = None if check is None else read_check(check, function, signature)
        except DefinitionError as error:
            raise DefinitionError([*error.problems, *problems]) from None
        if problems:
            raise DefinitionError(problems)
        return FunctionTool(
            name=called,
            title=titled(called, title),
            description=description or inspect.getdoc(function) or "",
            examples=tuple(examples),
            permission=permission,
            roles=frozenset(roles),
            confirm=confirm,
            idempotent=idempotent,
            timeout=timedelta(seconds=seconds_of(timeout)),
            retries=retries,
            implementation=FunctionImplementation(signature, function),
            source=source_of(function),
            options=options,
            description_zh=description_zh,
            check=rules,
            phrases=tuple(phrases),
        )

    return decorate


_PERMISSION = 'write @tool(permission="read"), or "write" or "admin"'
_FLAGS = (
    *("confirm", "idempotent", "return_direct", "client"),
    *("listed", "suggested", "request", "approval"),
)
_COUNTS = ("retries", "ephemeral", "per_minute", "at_once")
_TEXTS = ("description", "name", "undoes", "description_zh")
_LISTS = ("roles", "examples", "phrases")
_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(_FLAGS, ((bool,), "True or False")),
    **dict.fromkeys(_COUNTS, ((int, type(None)), "a number")),
    **dict.fromkeys(_TEXTS, ((str,), "a text")),
    **dict.fromkeys(_LISTS, ((list, tuple, set, frozenset, str), "a list of texts")),
}
"""The types that options may have, and what messages call them; a single text as a list is told
apart later."""


def _check_types(options: Mapping[str, object]) -> None:
    """Raise `DefinitionError` for options of other types, and for `@tool` without options."""
    if callable(function := options["description"]):
        raise DefinitionError([problem_of(function, "doesn't say its permission", _PERMISSION)])
    at = calling_line()
    problems = [
        Problem(*at, f"@tool has {name}={options[name]!r:.60}", f"write {what}")
        for name, (types, what) in _TYPES.items()
        if type(options[name]) not in types
    ]
    if problems:
        raise DefinitionError(problems)


def _spans(**written: str) -> dict[str, Any]:
    return {name: timedelta(seconds=seconds_of(each)) for name, each in written.items()}


_Faults = Iterator[tuple[str, str]]
"""What is wrong with a tool, and what would be right."""


def option_faults(
    name: str, permission: Permission, timeout: str, retries: int | None, roles: Sequence[str]
) -> _Faults:
    if not _NAME.fullmatch(name):
        remedy = "use up to 63 small letters, digits and underscores, a letter first"
        yield "has a name that models can't call it by", remedy
    if name in RESERVED:
        yield TAKEN, ANOTHER
    if not permission:
        yield "doesn't say its permission", _PERMISSION
    elif permission not in get_args(Permission):
        yield f"has the permission {permission!r:.80}", "read, write or admin"
    if permission == "admin" and (not roles or EVERYONE in roles):
        yield "changes what is others', for everyone", 'name who may, as in roles=["hr"]'
    if not seconds_of(timeout):
        yield f"has the timeout {timeout!r:.80}", 'write it like "500ms" or "10s"'
    if retries is not None and retries < 0:
        yield f"is retried {retries} times", "0 or more, or None for ever"


def _extra_faults(
    name: str,
    permission: Permission,
    kept: tuple[str, str],
    options: ToolOptions,
    check: object,
) -> _Faults:
    reads, cache = permission == "read", kept[0]
    yield from _shared_faults(permission, kept[1])
    if not _is_duration(cache):
        yield f"has the cache {cache!r:.80}", 'write it like "30s" or "10m"'
    elif seconds_of(cache) and not reads:
        yield "writes and is cached", "take the cache out"
    if options.client and not reads:
        remedy = "let it read there, and another tool write here"
        yield "writes at the front end, which no ledger sees", remedy
    if options.client and check is not None:
        yield "is checked here and called there", "let the front end check, or make the call here"
    for option, least in (("ephemeral", 0), ("per_minute", 1), ("at_once", 1)):
        count = getattr(options, option)
        if count is not None and count < least:
            yield f"has {option}={count}", f"write {least} or more"
    if options.undoes and reads:
        remedy = 'make it permission="write", or leave `undoes` out'
        yield f"takes back {options.undoes} and changes nothing", remedy
    if options.undoes == name:
        yield "takes itself back", "name the tool whose call it takes back"


def _shared_faults(permission: Permission, shared: str) -> _Faults:
    if not _is_duration(shared):
        yield f"has shared={shared!r:.80}", 'write it like "30s" or "60m"'
    elif seconds_of(shared) and permission != "read":
        yield "writes, and its answers are given to others", "take `shared` out"


def _approval_faults(options: ToolOptions, permission: Permission, roles: Sequence[str]) -> _Faults:
    if not options.approval:
        return
    if permission == "read":
        yield "needs an approval and changes nothing", "leave `approval` out"
    if [*roles] != [FLOW_ROLE]:
        remedy = 'write roles=["flow"]: only a flow can ask for an approval'
        yield "needs an approval, and may be called without a flow", remedy
    if options.undoes:
        remedy = "leave `approval` out: what it takes back was approved"
        yield f"needs an approval and takes back {options.undoes}", remedy


def word_faults(title: Any, **lists: Sequence[str]) -> _Faults:
    """What is wrong with the title and the lists of words; a phrase is RE2 for a whole message."""
    in_both = isinstance(title, Mapping) and set(title) == set(get_args(Locale))
    if title is not None and not (in_both and _are_words([*title.values()])):
        remedy = 'write both languages: title={"zh": "会议室", "en": "Meeting rooms"}'
        yield f"has the title {title!r:.80}", remedy
    for name, words in lists.items():
        if isinstance(words, str):
            # A text is a sequence of its letters, each of which would be a role.
            remedy = f"write a list: {name}=[{words[:40]!r}]"
            yield f"has one text as its {name}, {words[:40]!r}", remedy
        elif not _are_words(words):
            yield f"has the {name} {words!r:.80}", "write a list of texts"
        elif name == "phrases":
            yield from _phrase_faults(words)


def _are_words(words: Sequence[object]) -> bool:
    return all(isinstance(each, str) and each.strip() for each in words)


def _phrase_faults(phrases: Sequence[str]) -> _Faults:
    for source in phrases:
        if (fault := refused(source, bounds=CODED)) is not None:
            yield f"has the phrase {source!r:.80}, which {fault.what}", fault.remedy
        elif not (source.startswith("^") and source.endswith("$")):
            remedy = 'write it for the whole message: "^(?:…)$"'
            yield f"has the phrase {source!r:.80} for any part of one", remedy


def seconds_of(duration: str) -> float:
    """Read a duration as people write it: "500ms", "10s", "2m".

    Zero if it isn't one, or is longer than `MAX_DURATION`.
    """
    found = re.fullmatch(DURATION, duration) if isinstance(duration, str) else None
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    return seconds if seconds <= MAX_DURATION.total_seconds() else 0.0


def _is_duration(written: str) -> bool:
    found = re.fullmatch(DURATION, written) if isinstance(written, str) else None
    return found is not None and (seconds_of(written) > 0 or float(found[1]) == 0)
