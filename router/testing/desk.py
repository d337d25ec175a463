"""A desk to talk to in tests: real workflows on a Temporal server whose clock skips."""

import asyncio
import threading
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, chdir
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import JsonValue, TypeAdapter

from activities.capabilities import Capabilities
from router.domain.errors import InvalidInput
from router.domain.locale import Locale
from router.domain.principals import Principal
from router.flow.catalog import Catalog
from router.flow.loader import load_all
from router.runtime.definitions import vocabulary
from router.settings import Settings
from router.story.entries import Failing, StoryNames
from router.story.expectations import Mismatch, ObservedCall, Standing
from router.story.loader import read_steps
from router.story.story import Story
from router.story_runner.environment import Environment, kept_down, opened, watched
from router.story_runner.runner import Performance
from router.testing.calls import NOW, Overrides
from router.tool.implementation import FunctionImplementation
from router.tool.registry import Registry
from router.tool.tool import Tool

T = TypeVar("T")
OWN_TOOLS = ("activities.builtin.", "router.extensions.")
"""Tools of modules that begin so are the router's own, and every desk has them."""


class DeskServer:
    """One Temporal server and one worker, in a thread, for all desks of a test session.

    Args:
        folder: A folder of the project whose flows, tools and people it has.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._over = asyncio.Event()
        self._held = ExitStack()
        self._serving: asyncio.Task[None] | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        with chdir(self._folder):
            self._held.enter_context(kept_down())
            self.environment = self.run(self._open(Settings.load()))
        self.offered = self.environment.offered
        self.people = [*self.environment.people.everyone()]
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self._close())
        self._held.close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work that is done in the server's event loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self, settings: Settings) -> Environment:
        opening: asyncio.Future[Environment] = self._loop.create_future()
        self._serving = self._loop.create_task(self._serve(settings, opening))
        return await opening

    async def _serve(self, settings: Settings, opening: "asyncio.Future[Environment]") -> None:
        try:
            async with opened(settings) as environment:
                opening.set_result(environment)
                await self._over.wait()
        except BaseException as error:
            if opening.done():
                raise
            opening.set_exception(error)

    async def _close(self) -> None:
        self._over.set()
        if self._serving is not None:
            await self._serving


class Desk:
    """One conversation of one person with the desk, and everybody else who acts in it.

    Each method returns once the desk is done with what it was told. What the desk can't do, such
    as a decision that nobody waits for, is an `AssertionError` that says why.
    """

    def __init__(
        self, server: DeskServer, performance: Performance, names: StoryNames, *, has_model: bool
    ) -> None:
        self._server = server
        self._performance = performance
        self._names = names
        self._has_model = has_model

    @property
    def user(self) -> Principal:
        """The person who talks."""
        return self._performance.actor.user

    @property
    def replies(self) -> list[str]:
        """What the desk has said since the last step, a text for each reply."""
        return [*self._performance.seen.said]

    @property
    def flow(self) -> Standing:
        """Where the newest request stands: `flow`, `status`, `state`, `slots`, `approvers`."""
        __tracebackhide__ = True
        standing = self._performance.seen.standing
        if standing is None:
            raise AssertionError(f"no flow was started; the desk has said {self.replies}")
        return standing

    @property
    def calls(self) -> list[ObservedCall]:
        """The calls of tools so far: `tool`, `arguments`, `result`, `error`."""
        return [*self._performance.seen.calls]

    def say(
        self,
        message: str | Mapping[str, Any],
        *,
        model: Sequence[Mapping[str, Any]] = (),
    ) -> list[str]:
        """Say something, or press a button, and return what the desk replies.

        Args:
            message: A text; or `{"confirm": True}`, `{"choose": …}`, `{"form": {…}}`.
            model: What the model answers, question by question: `{"says": "…"}` or
                `{"call": {"function": {…}}}`. Other questions fail the test.
        """
        __tracebackhide__ = True
        if model and not self._has_model:
            raise InvalidInput("this desk has no model: write make_desk(model=True)")
        return self.step({"user": message, **({"model": [*model]} if model else {})})

    def decide(
        self, approver: str, verdict: str, *, comment: str = "", to: str | None = None
    ) -> list[str]:
        """Let an approver decide on what waits for them, and return what the desk says.

        Args:
            approver: Their user id.
            verdict: `approve`, `reject`, `return`, `delegate` or `add`.
            comment: What they say to it.
            to: Whom `delegate` and `add` name.
        """
        __tracebackhide__ = True
        more = {name: value for name, value in (("comment", comment), ("to", to)) if value}
        return self.step({"approver": {approver: verdict}, **more})

    def approve(self, approver: str, *, comment: str = "") -> list[str]:
        """Let an approver approve what waits for them, and return what the desk says."""
        __tracebackhide__ = True
        return self.decide(approver, "approve", comment=comment)

    def reject(self, approver: str, *, comment: str = "") -> list[str]:
        """Let an approver reject what waits for them, and return what the desk says."""
        __tracebackhide__ = True
        return self.decide(approver, "reject", comment=comment)

    def skip(self, **duration: float) -> list[str]:
        """Let time pass, such as `days=3` or `hours=2`, and return what the desk says in it."""
        __tracebackhide__ = True
        written = _DURATION.dump_python(timedelta(**duration), mode="json")
        return self.step({"after": written})

    def answer_tools(self, **answers: JsonValue) -> None:
        """Let tools answer these values from now on, by their names, without being called."""
        __tracebackhide__ = True
        self.step({"tool_answers": answers})

    def fail_tools(self, **failures: Failing) -> None:
        """Let tools fail from now on: `permanent`, `arguments`, `unknown`, `transient` or `no`."""
        __tracebackhide__ = True
        self.step({"tool_fails": failures})

    def step(self, step: Mapping[str, Any]) -> list[str]:
        """Take a step as a story has it, and return what the desk has said since the last act.

        Args:
            step: A step of a story file, such as `{"event": {"name": "paid"}}`.

        Raises:
            InvalidInput: It is no step, or names somebody or something that isn't there.
            AssertionError: The desk can't do it, or an expectation isn't met.
        """
        __tracebackhide__ = True
        steps, complaints = read_steps([step], self._names)
        if complaints:
            raise InvalidInput("; ".join(", ".join(each.fault) for each in complaints))
        mismatch = self._server.run(self._performance.take(steps[0]))
        if mismatch is not None:
            raise AssertionError(_told(mismatch, self.replies))
        return self.replies


class DeskFactory:
    """Makes desks on a server, each with a conversation of its own, and ends what is left."""

    def __init__(self, server: DeskServer) -> None:
        self._server = server
        self._open = ExitStack()
        self._performances: list[Performance] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for performance in self._performances:
            self._server.run(performance.close())
        self._open.close()

    def __call__(  # noqa: PLR0913 - each is something that a test may name
        self,
        *,
        user: str = "",
        locale: Locale | None = None,
        now: datetime = NOW,
        flows: Sequence[Path | str] | None = None,
        tools: Sequence[Tool] | None = None,
        people: Sequence[Principal] | None = None,
        overrides: Overrides | None = None,
        model: bool = False,
    ) -> Desk:
        """Return a desk in which nothing has been said.

        Args:
            user: The user id of who talks; the first person of the directory if left out.
            locale: The language of the conversation; the user's if left out.
            now: When it begins.
            flows: Files, folders, or texts of flow files, in place of the project's.
            tools: Tools in place of the project's.
            people: People in place of the project's.
            overrides: What to call in place of dependencies, by what `Depends` names.
            model: Whether there is a model, which answers what `say(…, model=[…])` lists.
        """
        __tracebackhide__ = True
        environment = self._server.environment
        offered = self._offered(flows, tools)
        crowd = [*(self._server.people if people is None else people)]
        self._server.run(environment.restage(offered, crowd))
        self._open.enter_context(self._replaced(overrides or {}))
        ids = [person.id for person in crowd]
        talks = user or (ids[0] if ids else "")
        if talks not in ids:
            raise InvalidInput(f"nobody is called {talks!r}; there are: {', '.join(ids) or 'none'}")
        story = Story("test", "test", 1, (), user=talks, locale=locale, now=now, model=model)
        tenant = f"test-{len(environment.shifts)}"
        performance = self._server.run(Performance.begun(environment, story, tenant))
        self._performances.append(performance)
        registry = offered.registry
        names = StoryNames(ids, registry.names, offered.catalog.flows, registry.prefixes)
        return Desk(self._server, performance, names, has_model=model)

    def _replaced(self, overrides: Overrides) -> AbstractContextManager[None]:
        return self._server.environment.parts.dependencies.replace(overrides)

    def _offered(
        self, flows: Sequence[Path | str] | None, tools: Iterable[Tool] | None
    ) -> Capabilities:
        base, registry = self._server.offered, self._server.offered.registry
        if tools is not None:
            own = [tool for tool in registry if _is_own(tool)]
            given = [watched(tool, self._server.environment.books) for tool in tools]
            registry = Registry()
            registry.replace("test", [*own, *given])
        catalog = base.catalog if flows is None else _catalog(flows, registry)
        return Capabilities(catalog, base.skills, registry)


def _is_own(tool: Tool) -> bool:
    made = tool.implementation
    return isinstance(made, FunctionImplementation) and made.function.__module__.startswith(
        OWN_TOOLS
    )


def _catalog(flows: Sequence[Path | str], registry: Registry) -> Catalog:
    """Return the flows of files, folders and texts; raises `DefinitionError` with all problems."""
    places = [each for each in flows if isinstance(each, Path)]
    with TemporaryDirectory(prefix="flows-") as folder:
        for text in (dedent(each).strip() for each in flows if isinstance(each, str)):
            name = text.partition("\n")[0].removeprefix("flow:").strip()
            places.append(Path(folder) / f"{name}.yaml")
            places[-1].write_text(f"{text}\n", encoding="utf-8")
        return load_all(places, vocabulary(registry))


def _told(mismatch: Mismatch, replies: Sequence[str]) -> str:
    expected, found = mismatch.within("en")
    return "\n".join(
        [
            *(f"expected: {each}" for each in expected),
            *(f"found: {each}" for each in found),
            *(f"the desk has said: {each}" for each in replies),
        ]
    )


_DURATION = TypeAdapter(timedelta)
