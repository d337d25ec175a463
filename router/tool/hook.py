"""Hooks: functions of a company's own that are told what happens, and may refuse it.

They are declared as tools are, in any module of a project's package, and found there:

    @hook("before_tool", tools=["record_leave"])
    async def not_while_closing(event: ToolEvent, books: Annotated[Books, Depends(books)]) -> (
        Veto | None
    ):
        '''No leave is recorded while the month is being closed.'''
        return Veto(say=CLOSING) if await books.are_closing(event.now) else None

Each call is an activity of its own, `hook:not_while_closing`. `router.domain.hooks` has the events
and the answers of each point.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import ValidationError

from router.domain.errors import (
    BrokenHook,
    DefinitionError,
    NotFound,
    Problem,
    nearest,
    reason_of,
)
from router.domain.hooks import (
    ANSWERS,
    EVENTS,
    OF_TOOLS,
    REFUSING,
    Advice,
    HookEvent,
    HookPoint,
    Veto,
)
from router.domain.source_lines import SourceLine, source_of
from router.formats.regex import CODED, compile_foreign, refused
from router.tool.context import Dependencies, Provider
from router.tool.signature import ParameterReader, ToolFunction, problem_of
from router.tool.tool import seconds_of

HookVerdict = Veto | Advice | None
"""What a hook comes to; None where it has nothing to say."""

LONGEST_TIMEOUT = 30.0
"""Seconds that a hook may have at most: a person may be waiting."""
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, eq=False)
class Hook:
    """One hook. One that is declared anew is another, however alike the two are."""

    name: str
    point: HookPoint
    description: str
    timeout: timedelta
    required: bool
    """True where what it stands before isn't done unless it has said its word."""
    tools: frozenset[str]
    """At points of tools, those it is about; all where there are none."""
    phrases: tuple[str, ...]
    """Before a decision, RE2: it is about messages that have one of them; all where none are."""
    function: ToolFunction
    parameter: str
    injected: dict[str, Provider[Any]]
    source: SourceLine

    @property
    def providers(self) -> frozenset[Provider[Any]]:
        """What has to be provided before it can be called, and for that in turn."""
        own = frozenset(self.injected.values())
        return own.union(*(each.all_needed for each in own))

    def is_about_tool(self, name: str) -> bool:
        """True where it is to hear of calls of this tool."""
        return self.point in (*OF_TOOLS, "on_error") and (not self.tools or name in self.tools)

    def is_about_words(self, normalised: str) -> bool:
        """True where it is to hear of a message that reads so once it is normalised."""
        return not self.phrases or any(one.search(normalised) for one in self._expressions)

    @cached_property
    def _expressions(self) -> list[Any]:
        return [compile_foreign(phrase, CODED, ignore_case=True) for phrase in self.phrases]

    async def call(self, event: HookEvent, dependencies: Dependencies) -> HookVerdict:
        """What it answers; raises `BrokenHook` where that is nothing it may."""
        async with dependencies.call_scope(self.function) as scope:
            given = {n: await scope.resolve(each) for n, each in self.injected.items()}
            answer = await scope.call(**{self.parameter: event}, **given)
        return self._checked(answer)

    def __call__(self, *arguments: Any, **given: Any) -> Any:
        """Call the function that was decorated, as it was."""
        return self.function(*arguments, **given)

    def _checked(self, answer: Any) -> HookVerdict:
        allowed = ANSWERS.get(self.point, ())
        if answer is None:
            return None
        if type(answer) not in allowed:
            may = " or ".join([*(each.__name__ for each in allowed), "None"])
            kind = type(answer).__name__
            raise BrokenHook(f"it answered {kind:.80}; {self.point} takes {may}")
        try:
            # Looked at again: made without validation, or changed since, it says anything.
            heard: HookVerdict = type(answer).model_validate(answer.model_dump(warnings=False))
        except ValidationError as error:
            why = "; ".join(reason_of(one) for one in error.errors()[:3])
            raise BrokenHook(f"what it answered can't be used: {why}") from error
        return heard


def hook(
    point: HookPoint,
    *,
    timeout: str = "2s",
    required: bool = False,
    tools: Sequence[str] = (),
    phrases: Sequence[str] = (),
) -> Callable[[ToolFunction], Hook]:
    """Make a hook of a function, under the function's name.

    One parameter is the point's event, annotated with its type; the others are marked `Depends`,
    as a tool's are. Its docstring says in a line what it is for.

    Args:
        point: Where it stands: `before_decision` may refuse a message, add to it or hide what may
            be chosen; `before_tool` may refuse a call, and `before_verdict` an approver's decision;
            `after_turn`, `after_tool`, `on_approval` and `on_error` look on.
        timeout: How long it may take: "500ms", "2s", at most 30 seconds. It is in a turn's way only
            at a point that refuses.
        required: What it stands before isn't done where it fails or takes too long. Otherwise that
            is told in the log and the metrics, and everything goes on without it.
        tools: At `before_tool` and `after_tool`, the tools that it is about; all where left out.
        phrases: At `before_decision`, RE2, searched in the normalised message: it is called for
            messages that have one of them, and costs others nothing.

    Raises:
        DefinitionError: The function can't be a hook; says why, and what would be right.

    Example:
        >>> from router.domain.hooks import TurnEvent
        >>> @hook("after_turn")
        ... async def count_words(event: TurnEvent) -> None:
        ...     '''Counts what is said here.'''
        >>> count_words.point, count_words.required
        ('after_turn', False)
    """
    if callable(point):
        what, remedy = "doesn't say where it stands", f'write @hook("…"): {_POINTS}'
        raise DefinitionError([problem_of(point, what, remedy, "hook")])

    def decorate(function: ToolFunction) -> Hook:
        reader = _Reader(function, point)
        given = reader.read(timeout, required=required, tools=tools, phrases=phrases)
        return Hook(
            name=function.__name__,
            point=point,
            description=inspect.getdoc(function) or "",
            timeout=timedelta(seconds=seconds_of(timeout)),
            required=required,
            tools=frozenset(tools),
            phrases=tuple(phrases),
            function=function,
            parameter=given,
            injected=reader.injected,
            source=source_of(function),
        )

    return decorate


class _Reader(ParameterReader):
    kind = "hook"

    def __init__(self, function: Callable[..., Any], point: HookPoint) -> None:
        super().__init__(function)
        self._point = point
        self._event: str | None = None

    def read(
        self, timeout: str, *, required: bool, tools: Sequence[str], phrases: Sequence[str]
    ) -> str:
        """The name of the parameter that is given the event."""
        function, point = self.function, self._point
        if point not in EVENTS:
            self.wrong(f"stands at {point!r:.40}", nearest(str(point), EVENTS) or _POINTS)
            self.raise_if_wrong()
        self.check_called()
        if not _NAME.fullmatch(function.__name__):
            remedy = "use up to 63 small letters, digits and underscores, a letter first"
            self.wrong("has a name that can't be an activity's", remedy)
        if not inspect.getdoc(function):
            self.wrong("has no docstring", "say in one what it is for")
        self._look_at_options(timeout, required=required, tools=tools, phrases=phrases)
        hints = self.read_parameters()
        if self.context is not None or any(one.takes_context for one in self.injected.values()):
            remedy = "the event says who, when and where; leave it out"
            self.wrong("takes a ToolContext", remedy)
        if self._event is None:
            remedy = f"give it a parameter of type {EVENTS[point].__name__}"
            self.wrong("takes no event", remedy)
        self._look_at_answer(hints)
        self.raise_if_wrong()
        return self._event or ""

    def take_own(self, parameter: inspect.Parameter, hint: Any) -> None:
        wanted = EVENTS[self._point]
        if hint is not wanted:
            remedy = f"write `{parameter.name}: {wanted.__name__}`, or mark it Depends"
            self.wrong(f"has a parameter {parameter.name!r} that nobody gives it", remedy)
        elif self._event is not None:
            self.wrong("takes its event twice", f"leave out the parameter {parameter.name!r}")
        else:
            self._event = parameter.name

    def _look_at_answer(self, hints: dict[str, Any]) -> None:
        if "return" not in hints:
            self.wrong("doesn't say what it answers", "annotate its result, with None if nothing")
            return
        hint, may = hints["return"], (*ANSWERS.get(self._point, ()), NoneType)
        named = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        strange = [each for each in named if each not in may]
        if strange:
            allowed = " | ".join("None" if one is NoneType else one.__name__ for one in may)
            self.wrong(f"answers {hint}, which isn't heard here", f"write -> {allowed}")

    def _look_at_options(
        self, timeout: str, *, required: bool, tools: Sequence[str], phrases: Sequence[str]
    ) -> None:
        point = self._point
        if not 0 < seconds_of(timeout) <= LONGEST_TIMEOUT:
            remedy = f'write it like "500ms" or "2s", at most {LONGEST_TIMEOUT:g} seconds'
            self.wrong(f"has the timeout {timeout!r:.40}", remedy)
        if required and point not in REFUSING:
            remedy = "leave required out: what it looks at has happened by then"
            self.wrong(f"is required at {point}, where nothing can be stopped", remedy)
        if tools and point not in OF_TOOLS:
            self.wrong(f"names tools at {point}", "leave `tools` out")
        if phrases and point != "before_decision":
            self.wrong(f"has phrases at {point}", "leave `phrases` out")
        for name, words in (("tools", tools), ("phrases", phrases)):
            if isinstance(words, str) or not all(isinstance(w, str) and w.strip() for w in words):
                self.wrong(f"has the {name} {words!r:.60}", f"write a list of texts: {name}=[…]")
            elif name == "phrases":
                for fault, source in ((refused(w, bounds=CODED), w) for w in words):
                    if fault is not None:
                        self.wrong(
                            f"has the phrase {source!r:.60}, which {fault.what}", fault.remedy
                        )


_POINTS = f"there are: {', '.join(EVENTS)}"


class Hooks:
    """Every hook there is, by name; those of one point are called all at once."""

    def __init__(self) -> None:
        self._hooks: dict[str, Hook] = {}

    def swap(self, old: Iterable[Hook], new: Iterable[Hook]) -> None:
        """Put new hooks in place of old ones; raises `DefinitionError`, and changes nothing."""
        gone = {*map(id, old)}
        found = {name: each for name, each in self._hooks.items() if id(each) not in gone}
        problems = []
        for each in new:
            other = found.setdefault(each.name, each)
            if other is not each:
                taken = f"has a name that is taken, in {other.source.file}:{other.source.line}"
                what = f"the hook {each.name} {taken}"
                problems.append(Problem(*each.source, what, "rename one of the two"))
        if problems:
            raise DefinitionError(problems)
        # A new one in place of the old: whoever is going through it isn't stopped.
        self._hooks = dict(sorted(found.items()))

    def __iter__(self) -> Iterator[Hook]:
        """Every hook, by name."""
        return iter(self._hooks.values())

    def __getitem__(self, name: str) -> Hook:
        """The hook of this name; raises `NotFound`."""
        if name not in self._hooks:
            raise NotFound(f"there is no hook {name!r:.80}; {nearest(name, self._hooks)}")
        return self._hooks[name]

    def __contains__(self, name: str) -> bool:
        return name in self._hooks

    def at(self, *points: HookPoint) -> list[Hook]:
        """Those that stand at one of these points, by name."""
        return [each for each in self if each.point in points]

    def around(self, tool: str) -> list[Hook]:
        """Those that hear of a call of this tool, before or after it, or where it fails."""
        return [each for each in self if each.is_about_tool(tool)]

    def providers(self) -> frozenset[Provider[Any]]:
        """Everything that some hook needs to have provided."""
        return frozenset(p for each in self for p in each.providers)

    def misfits(
        self,
        tools: Iterable[str],
        prefixes: tuple[str, ...] = (),
        lacking: Mapping[Provider[Any], str] = MappingProxyType({}),
    ) -> list[str]:
        """What keeps some of them from being called, a sentence each.

        That is a setting that isn't there, of those `lacking`, and a tool that isn't among `tools`.
        Names that begin with one of the `prefixes` may yet come.
        """
        known = [*tools]
        unset = [
            f"the hook {each.name} fails whenever it is called: {setting} isn't set; set it"
            for each in self
            for setting in sorted({lacking[one] for one in each.providers if one in lacking})
        ]
        return unset + [
            f"{each.source.file}:{each.source.line}: the hook {each.name} is about {name}, and "
            f"there is no such tool: {nearest(name, known) or 'take it out'}"
            for each in self
            for name in sorted(each.tools - {*known})
            if not name.startswith(prefixes)
        ]
