"""What people ask to have remembered: kept, listed and forgotten, and found again for a model."""

import logging
from dataclasses import dataclass

import numpy as np
from temporalio import activity

from activities.execution import temporal_failures
from router.contracts import activities
from router.contracts.activities import MemoryAnswer, MemoryRequest
from router.domain.commands import Forget, Remember
from router.domain.errors import Conflict, InvalidInput, RouterError, Unavailable
from router.domain.locale import Locale, Localised
from router.domain.messages import Option
from router.domain.principals import Principal
from router.domain.records import MemoryRecord
from router.retrieval.encoders import Encoder
from router.retrieval.lexical import LexicalIndex, terms
from router.store.memories import Memories
from router.understanding.grounding import bare
from router.understanding.memory_wishes import FORGET_ALL, KEEP_ALL, forgetting, to_remember

_log = logging.getLogger("router.memories")

NEAREST = 5
"""Of what is remembered, that a model is told beside one message."""
_SHOWN, _BUTTONS = 20, 6
"""Of a list in a conversation: the newest, and how many of them have a button."""
_LABEL = 40
"""Characters of a button."""
_LEAST_COVERED = 0.5
"""The share of the words' weight that what is to be forgotten has to have."""

_KEPT = Localised(zh="记住了：{text}", en="I'll remember: {text}")
_KNOWN = Localised(zh="这件事已经记着：{text}", en="I remember that already: {text}")
_UNDO = Localised(zh="撤销", en="Undo")
_GONE = Localised(zh="忘掉了：{text}", en="Forgotten: {text}")
_GONE_ALREADY = Localised(zh="这件事已经不记着了。", en="That isn't remembered any more.")
_ALL_GONE = Localised(zh="记住的 {count} 件事都忘掉了。", en="All of it ({count}) is forgotten.")
_STAYS = Localised(zh="好的，都还记着。", en="All right, all of it stays remembered.")
_SURE = Localised(
    zh="一共记着 {count} 件事，都忘掉吗？忘掉就找不回来了。",
    en="{count} things are remembered. Forget all of them? They can't be brought back.",
)
_ALL, _NONE_OF_IT = Localised(zh="都忘掉", en="Forget all"), Localised(zh="留着", en="Keep them")
_NOTHING = Localised(
    zh="现在什么都没记着。想让我记住什么，就说“记住……”，没说的不会记。",
    en="Nothing is remembered. Say “remember that …” to have something kept; nothing else ever is.",
)
_LISTED = Localised(zh="你让我记住的有：", en="This is what you asked me to remember:")
_MORE = Localised(zh="还有 {count} 件更早的。", en="There are {count} older ones.")
_FORGET = Localised(zh="忘掉：{text}", en="Forget: {text}")
_NOT_FOUND = Localised(zh="没有记着“{text}”。记着的有：", en="“{text}” isn't remembered. What is:")
_WHICH = Localised(zh="要忘掉的是哪一件？", en="Which of these is to be forgotten?")


@dataclass(frozen=True)
class MemoryActivities:
    """The activity `remember`, for the person who speaks and for nobody else."""

    memories: Memories

    @activity.defn(name=activities.REMEMBER.name)
    async def remember(self, asked: MemoryRequest) -> MemoryAnswer:
        """Do what the command says, and say what came of it; run again, it comes to the same."""
        with temporal_failures():
            match asked.command:
                case Remember(text=text):
                    return await self._keep(asked, text)
                case Forget() as wish:
                    return await self._forget(asked, wish)
                case _:
                    return _listed(await self._theirs(asked), asked.locale)

    async def _theirs(self, asked: MemoryRequest) -> list[MemoryRecord]:
        return await self.memories.listed(asked.caller.tenant, asked.caller.id)

    async def _keep(self, asked: MemoryRequest, text: str) -> MemoryAnswer:
        caller, locale = asked.caller, asked.locale
        try:
            memory = MemoryRecord.of(caller, to_remember(text), locale, asked.now)
            await self.memories.keep(caller.tenant, caller.id, memory)
        except (InvalidInput, Conflict) as refusal:
            return MemoryAnswer(text=refusal.said.within(locale))
        kept = next((m for m in await self._theirs(asked) if m.id == memory.id), memory)
        said = _KEPT if kept.created_at == asked.now else _KNOWN
        undo = Option(label=_UNDO.within(locale), value=forgetting(kept.id))
        return MemoryAnswer(text=said.within(locale).format(text=kept.text), options=[undo])

    async def _forget(self, asked: MemoryRequest, wish: Forget) -> MemoryAnswer:
        theirs, locale = await self._theirs(asked), asked.locale
        if wish.all:
            return await self._forget_all(asked, len(theirs), sure=wish.sure)
        if not wish.id and not wish.text:
            return MemoryAnswer(text=_STAYS.within(locale))
        meant = [m for m in theirs if m.id == wish.id] if wish.id else _meant(wish.text, theirs)
        if len(meant) == 1:
            await self.memories.forget(asked.caller.tenant, asked.caller.id, meant[0].id)
            return MemoryAnswer(text=_GONE.within(locale).format(text=meant[0].text))
        if wish.id:
            return MemoryAnswer(text=_GONE_ALREADY.within(locale))
        if meant:
            return _listed(meant, locale, _WHICH.within(locale))
        head = _NOT_FOUND.within(locale).format(text=wish.text[:_LABEL])
        return _listed(theirs, locale, head)

    async def _forget_all(self, asked: MemoryRequest, count: int, *, sure: bool) -> MemoryAnswer:
        locale = asked.locale
        if not count:
            return MemoryAnswer(text=_NOTHING.within(locale))
        if sure:
            gone = await self.memories.forget(asked.caller.tenant, asked.caller.id)
            return MemoryAnswer(text=_ALL_GONE.within(locale).format(count=gone))
        options = [
            Option(label=_ALL.within(locale), value=FORGET_ALL),
            Option(label=_NONE_OF_IT.within(locale), value=KEEP_ALL),
        ]
        return MemoryAnswer(text=_SURE.within(locale).format(count=count), options=options)


def _listed(memories: list[MemoryRecord], locale: Locale, head: str = "") -> MemoryAnswer:
    """The newest of them, with a button each that has it forgotten."""
    if not memories:
        return MemoryAnswer(text=_NOTHING.within(locale))
    lines = [f"- {memory.text}" for memory in memories[:_SHOWN]]
    if (left := len(memories) - _SHOWN) > 0:
        lines.append(_MORE.within(locale).format(count=left))
    options = [
        Option(label=_FORGET.within(locale).format(text=_cut(m.text)), value=forgetting(m.id))
        for m in memories[:_BUTTONS]
    ]
    return MemoryAnswer(text="\n".join([head or _LISTED.within(locale), *lines]), options=options)


def _cut(text: str) -> str:
    return text if len(text) <= _LABEL else f"{text[:_LABEL]}…"


def _meant(words: str, memories: list[MemoryRecord]) -> list[MemoryRecord]:
    """Those that the words are about: all of them stand there, or there is no other as near."""
    said = bare(words)
    same = [m for m in memories if said == bare(m.text)]
    if same or not said:
        return same
    held = [m for m in memories if said in bare(m.text) or bare(m.text) in said]
    if held:
        return held
    found = _by_words(words, memories)
    best = max((covered for covered in found), default=0.0)
    return [
        m for m, covered in zip(memories, found, strict=True) if covered == best >= _LEAST_COVERED
    ]


def _by_words(words: str, memories: list[MemoryRecord]) -> list[float]:
    """How much of the words' weight each has."""
    index = LexicalIndex()
    for place, memory in enumerate(memories):
        index.put(place, terms(memory.text))
    return [float(each) for each in index.search(terms(words), len(memories)).covered]


@dataclass(frozen=True)
class MemoryRecall:
    """Finds what a person asked to have remembered that is near to what they say now."""

    memories: Memories
    encoder: Encoder | None = None

    async def nearest(self, person: Principal, text: str) -> list[str]:
        """The nearest few, the nearest first: by meaning, or by words where that can't be had."""
        theirs = await self.memories.listed(person.tenant, person.id)
        if len(theirs) <= NEAREST:
            return [memory.text for memory in theirs]
        near = await self._nearness(text, theirs)
        order = sorted(range(len(theirs)), key=lambda place: -near[place])
        return [theirs[place].text for place in order[:NEAREST]]

    async def told(self, person: Principal, text: str) -> list[str]:
        """The same for a model; nothing where there are no words, or the database is away."""
        try:
            return await self.nearest(person, text) if text else []
        except Unavailable as error:
            _log.warning("nothing is remembered just now: %s", error)
            return []

    async def _nearness(self, text: str, theirs: list[MemoryRecord]) -> list[float]:
        if self.encoder is not None:
            try:
                said = (await self.encoder.queries([text]))[0]
                known = await self.encoder.documents([memory.text for memory in theirs])
                return [float(each) for each in np.asarray(known @ said)]
            except RouterError as error:
                _log.warning("memories can't be encoded, words alone are compared: %s", error)
        return _by_words(text, theirs)
