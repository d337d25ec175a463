"""Answers that are the same for everyone, given again without asking a model.

An answer is kept where a model made it of what `shared` tools found and of nothing else, and given
to whoever asks the same in the same words. Nearness of meaning isn't enough: see docs/memory.md for
what was measured.
"""

import hashlib
import json
import logging
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol, runtime_checkable

from router.contracts import activities
from router.domain.commands import Command, ReplyText
from router.domain.errors import Unavailable
from router.domain.messages import Route
from router.domain.principals import Principal
from router.domain.records import KeptAnswer
from router.entities.dates import Days
from router.entities.grammar import compiled, only
from router.entities.utterance import Utterance
from router.flow.paused import Situation
from router.lexicon import EN, ZH
from router.routing.replies import ANSWERED_BEFORE
from router.store.kept_answers import KeptAnswers
from router.telemetry.metrics import ANSWER_CACHE
from router.tool.context import Dependencies
from router.tool.registry import Registry, allows
from router.tool.tool import Tool
from router.understanding.dialogue_acts import refers
from router.understanding.memory_wishes import memory_signs

_log = logging.getLogger("router.answers")

LONGEST = 200
"""Characters of a question that is asked again in the same words."""
_PERSONAL = compiled(rf"{ZH.first_person}|\b{EN.first_person}\b")
_AROUND = compiled(
    rf"^(?:{ZH.hello}|{ZH.courtesy}|请问|\b(?:{EN.hello}|{EN.courtesy})\b|[,.!?~: ])+"
    rf"|(?:{ZH.courtesy}|[呢呀啊吧]|\b{EN.courtesy}\b|[,.!?~: ])+$"
)


@runtime_checkable
class Versioned(Protocol):
    """What a shared tool's results are made of, where it can say which they are by now."""

    @property
    def version(self) -> str:
        """Another one as soon as a result may be another."""


def _asked(text: str) -> str:
    """A normalised question without what stands around it: what has to be the same."""
    return str(_AROUND.sub("", text))


def is_for_everyone(said: Utterance) -> bool:
    """True where nothing in the words makes the answer one person's, or one day's.

    >>> from datetime import UTC, datetime
    >>> now = datetime(2026, 11, 18, tzinfo=UTC)
    >>> texts = ("年假有几天", "我的年假有几天", "明天放假吗", "that one?")
    >>> [is_for_everyone(Utterance.of(text, now)) for text in texts]
    [True, False, False, False]
    """
    text = said.text
    if not len(_asked(text)) > 1 or len(text) > LONGEST or _PERSONAL.search(text):
        return False
    of_a_day = any(only(Days, [*said.things, *said.spent, *said.meant]))
    return not (of_a_day or refers(text) or memory_signs(text))


_UNREAD = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Sk", "So"})
_SIGNS = compiled("[\u2600-\u27bf\ufe00-\ufe0f\U0001f000-\U0001fbff\U000e0100-\U000e01ef]")


def is_read_whole(text: str) -> bool:
    """Return true if a model sees nothing in the text that its normalised form leaves out.

    A model reads words spelled in emoji or invisible characters; the question that an answer is
    kept under doesn't have them, so that answer would be given to everybody who asks plainly.

    >>> [is_read_whole(text) for text in ("年假有几天？", "年假有几天 🇸🇦🇾 🇳🇴")]
    [True, False]
    """
    unread = (c for c in text if unicodedata.category(c) in _UNREAD and not c.isspace())
    return not any(unread) and not _SIGNS.search(text)


def _is_alone(situation: Situation) -> bool:
    """True where nothing is going on that the message may be about."""
    busy = (situation.active, situation.skill, situation.answered, situation.offered)
    return not any(busy)


@dataclass(frozen=True)
class SharedAnswers:
    """What was answered before, as long as what it was made of is the same."""

    kept: KeptAnswers
    registry: Registry
    dependencies: Dependencies

    def _concerns(self, given: activities.Decide, remembered: Sequence[str]) -> bool:
        """Whether its answer may be the same for everyone: its words, and all that is around it."""
        message, now = given.message, given.situation.now
        if message.action or message.skill or message.files or given.beside or remembered:
            return False
        text = message.text or ""
        own = is_read_whole(text) and is_for_everyone(Utterance.of(text, now))
        return own and _is_alone(given.situation) and bool(self._shared(given.account.caller))

    async def scope(
        self, given: activities.Decide, remembered: Sequence[str], asked_with: Iterable[str]
    ) -> str:
        """Digest of all that an answer depends on besides the question; empty where it is personal.

        That is the language, what models are `asked_with`, and which of the tools the person may
        use, each with the version of what it says.
        """
        if not self._concerns(given, remembered):
            return ""
        tools = sorted(self._shared(given.account.caller), key=lambda tool: tool.name)
        versions = [[tool.name, *await self._versions(tool)] for tool in tools]
        return _digest([given.situation.locale, *asked_with, versions])

    async def given_again(
        self, given: activities.Decide, scope: str
    ) -> activities.RoutingDecision | None:
        """What a model answered to the same question, maybe somebody else's; none is asked."""
        if given.rounds or not scope:
            return None
        known = await self._find(given.account, given.message.text, scope)
        if known is None:
            return None
        reason = ANSWERED_BEFORE.within(given.situation.locale)
        return activities.RoutingDecision(
            route=Route(kind="tool", target=known.tools[0], by="retrieval", reason=reason),
            commands=[ReplyText(text=known.text)],
        )

    def wording_scope(self, given: activities.Phrase, asked_with: Iterable[str]) -> str:
        """Digest of all that words for findings depend on; empty where they are somebody's.

        That is the language, what models are `asked_with`, and the findings themselves: what a
        tool says by now is looked up each time, and only its wording is given again.
        """
        shared = {tool.name for tool in self._shared(given.account.caller)}
        if not given.findings or any(
            f.error is not None or f.tool not in shared for f in given.findings
        ):
            return ""
        said = Utterance.of(given.text, given.account.now)
        if not (is_read_whole(given.text) and is_for_everyone(said)):
            return ""
        findings = [[f.tool, f.result] for f in given.findings]
        return _digest([given.locale, *asked_with, findings])

    async def worded_before(self, given: activities.Phrase, scope: str) -> str | None:
        """What a model said of the same findings to the same question; none is asked."""
        known = await self._find(given.account, given.text, scope) if scope else None
        return known.text if known else None

    async def keep_wording(self, given: activities.Phrase, scope: str, text: str) -> None:
        """Keep what a model said of findings, unless something said before may be in it."""
        if scope and not given.history:
            tools = sorted({f.tool for f in given.findings})
            await self._keep(given.account, given.text, scope, text, tools)

    async def _find(
        self, account: activities.Account, text: str | None, scope: str
    ) -> KeptAnswer | None:
        """What was answered to the very question, for whoever may use all that it was made of."""
        caller, words = account.caller, _words(text, account)
        registry = self.registry.of(caller.tenant)
        try:
            answers = await self.kept.of(caller.tenant, scope, account.now)
        except Unavailable as error:
            _log.warning("no answers are given again just now: %s", error)
            return None
        for answer in answers:
            usable = all(name in registry for name in answer.tools) and all(
                allows(registry[name], caller) for name in answer.tools
            )
            if answer.question == words and usable:
                ANSWER_CACHE.labels("hit").inc()
                return answer
        ANSWER_CACHE.labels("miss").inc()
        return None

    async def keep(self, given: activities.Decide, scope: str, said: Sequence[Command]) -> None:
        """Keep what a model said of what the rounds' calls found, if all of it is shared.

        Nothing but words is kept, which held: `said` are the commands that it came to.

        Where anything failed, or was said before, it isn't; nor where what a tool says has become
        another since the question was first looked at, which `scope` tells.
        """
        texts = [command.text for command in said if isinstance(command, ReplyText)]
        if not given.rounds or len(texts) != 1 or len(said) != 1 or scope != given.scope:
            return
        called = {call.tool for made in given.rounds for call in made.calls}
        failed = any(f.error is not None for made in given.rounds for f in made.findings)
        tools = {tool.name: tool for tool in self._shared(given.account.caller)}
        if not called or not called <= tools.keys() or failed or given.history:
            return
        await self._keep(given.account, given.message.text, scope, texts[0], sorted(called))

    async def _keep(
        self,
        account: activities.Account,
        question: str | None,
        scope: str,
        text: str,
        tools: list[str],
    ) -> None:
        words, now = _words(question, account), account.now
        registry = self.registry.of(account.caller.tenant)
        answer = KeptAnswer(
            id=_digest([scope, words]),
            scope=scope,
            question=words,
            text=text,
            tools=tools,
            kept_at=now,
            until=now + min(registry[name].options.shared for name in tools),
        )
        try:
            await self.kept.keep(account.caller.tenant, answer)
        except Unavailable as error:
            _log.warning("an answer isn't kept for others: %s", error)
        else:
            ANSWER_CACHE.labels("kept").inc()

    def _shared(self, caller: Principal) -> list[Tool]:
        usable = self.registry.of(caller.tenant).visible_to(caller)
        return [tool for tool in usable if tool.options.shared > timedelta()]

    async def _versions(self, tool: Tool) -> list[str]:
        """Of whatever the tool is given that has one; what has none is as good as its time.

        What is made for each call is new each time, and so says nothing about the last one.
        """
        shared = [provider for provider in tool.providers if not provider.is_per_call]
        given = [await self.dependencies.resolve(provider) for provider in shared]
        return sorted(each.version for each in given if isinstance(each, Versioned))


def _words(text: str | None, account: activities.Account) -> str:
    """A typed question, without what stands around it."""
    return _asked(Utterance.of(text or "", account.now).text)


def _digest(parts: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
