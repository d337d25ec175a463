"""Wishes to have something remembered, forgotten or listed: by words alone, and only by those.

Nothing is remembered that nobody asked for: what is to be kept comes after words that ask for it,
in the same message, and is kept as it was typed. What only looks so (`记得提醒我开会`, `remember to
call`, `I forgot my password`) asks for something else, or for nothing.
"""

from collections.abc import Iterable
from typing import Any

from router.domain import commands
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.locale import Locale, Localised
from router.domain.messages import Option, Route
from router.domain.records import LONGEST_MEMORY
from router.domain.visible_text import visible
from router.entities.grammar import compiled, group_span
from router.entities.normalisation import normalise
from router.entities.utterance import Utterance
from router.lexicon import BOTH, EN, ZH
from router.secrecy.redaction import holds_secret
from router.understanding import route_reasons as why
from router.understanding.dialogue_acts import AROUND, MARKS, asks

MemoryWish = commands.Remember | commands.Forget | commands.ListMemories

_LEAST = 2
"""Characters of something that can be remembered."""
_THING = "(?P<thing>.+?)"
_THIS_EN = "(?:please )?(?:remember|keep|bear)(?: in mind)?(?: (?:that|this|it))?"
_END = r"(?:\b(?:please|pls|thanks|thank you)|谢谢你?|[吧哦啊呀哈,.!。~ ])*$"
_ZH_END = "(?:(?:了|谢谢你?|[吧哦啊呀哈,.!。~ ])*)$"
_OWN_ZH = f"(?:{ZH.of_oneself})"
_OWN_EN = rf"(?:{EN.of_oneself})\b"
_NEXT_TIME = "(?:以后|今后|下次|往后|从现在起|每次)"

_BEFORE = rf"(?:{ZH.hello}|{ZH.courtesy}|\b(?:{EN.hello}|{EN.courtesy}|ok|okay|also|oh)\b|{MARKS})*"

_ALL = compiled(f"^{AROUND}*{BOTH.forget_all}{AROUND}*$")
_LISTED = compiled(f"^{AROUND}*{BOTH.memories}{AROUND}*$")
_AFTER_ZH = "(?:了|哦|啊|吧|一下|这件事)*"
_KEPT = [
    compiled(f"^{_BEFORE}{source}$")
    for source in (
        # 记住：项目叫长风、帮我记一下：我在上海办公室
        f"(?:{ZH.remember})[,: ]*[:] *{_THING}{_END}",
        # 记住我吃素、以后请记住我们周五不开会、记住以后发我英文的
        f"(?:{ZH.remember})[, ]*(?P<thing>(?:{_OWN_ZH}|{_NEXT_TIME}).+?){_END}",
        # 请记得我对花生过敏、别忘了我吃素
        f"(?:{ZH.keep_in_mind})[, ]*(?P<thing>{_OWN_ZH}.+?){_END}",
        f"(?:{EN.remember}){_THING}{_END}",
        f"(?:{EN.keep_in_mind}) (?P<thing>{_OWN_EN}.+?){_END}",
        # 我吃素，记住了; I'm vegetarian, please remember that
        f"(?P<thing>{_OWN_ZH}[^?]+?)[,。.;!:] *(?:{ZH.remember}){_AFTER_ZH}{_END}",
        rf"(?P<thing>{_OWN_EN}[^?]+?)[,.;!:-] *{_THIS_EN}{_END}",
    )
]
_DONE_ZH = "(?:你|您|请|可以|帮我|麻烦)*"
_STOP_ZH = "(?:忘掉|(?:不要|不用|不必|无需|别)再?(?:记着|记得|记住)了?)"
_FORGOTTEN = [
    compiled(f"^{_BEFORE}{source}$")
    for source in (
        # 把我吃素这件事忘掉、把我吃素忘了吧
        f"{_DONE_ZH}把{_THING}(?:{ZH.memory_itself})?(?:给我)?忘(?:掉|记|了){_ZH_END}",
        # 忘掉我吃素这件事
        f"(?:{ZH.forget})[, ]*{_THING}(?:{ZH.memory_itself}){_ZH_END}",
        # 忘掉我吃素、不用再记着我吃素了
        f"{_DONE_ZH}{_STOP_ZH}(?P<thing>{_OWN_ZH}.+?){_ZH_END}",
        rf"(?:{EN.forget}) (?P<thing>(?:{_OWN_EN}|the |a ).+?){_END}",
    )
]
_PLEA = compiled(
    rf"^{_BEFORE}(?:(?:can|could|will|would) you\b|(?:你|您)?(?:能|可以|能不能|可不可以))"
)
_NONE = compiled(f"^(?:{BOTH.no_memory})")
_ONLY_SELF = compiled(rf"^(?:{ZH.of_oneself}|{EN.of_oneself}|[的了吧, ])*$")
_ASKED = compiled(r"(?:\?|[吗么呢]|没有|了没)$")
_SAID_BEFORE = compiled("^我(?:们)?(?:刚才?|刚刚|之前|上面|前面)(?:说|讲|提|问|的)")


def memory_wish(utterance: Utterance) -> MemoryWish | None:
    """What of this kind the message wishes for; None where it wishes for something else.

    >>> from datetime import UTC, datetime
    >>> said = lambda text: memory_wish(Utterance.of(text, datetime(2026, 11, 18, tzinfo=UTC)))
    >>> said("记住我吃素").text, said("remember that I'm vegetarian").text
    ('我吃素', "I'm vegetarian")
    >>> said("记得提醒我明天开会"), said("I forgot my password")
    (None, None)
    """
    text = utterance.text
    if not text or len(text) > 2 * LONGEST_MEMORY:
        return None
    if _ALL.search(text):
        return commands.Forget(all=True)
    if _LISTED.search(text):
        return commands.ListMemories()
    if (thing := _thing_in(text, _FORGOTTEN, utterance)) is not None:
        return commands.Forget(text=thing)
    thing = _thing_in(text, _KEPT, utterance)
    return None if thing is None else commands.Remember(text=thing)


def _thing_in(text: str, patterns: list[Any], utterance: Utterance) -> str | None:
    """What is to be remembered or forgotten, as typed; None where nothing sensible is."""
    if _PLEA.search(text):
        text = text.rstrip("? 吗么")  # whoever asks whether one can means that one should
    for pattern in patterns:
        found = pattern.search(text)
        if found is None:
            continue
        thing = found.group("thing").strip(" ,.;:!")
        if _is_remembered(thing):
            start = group_span(found, "thing")[0] + found.group("thing").index(thing)
            return utterance.normalised.as_typed(start, start + len(thing)).strip()
    return None


def _is_remembered(thing: str) -> bool:
    if len(thing) < _LEAST or _ONLY_SELF.search(thing) or _ASKED.search(thing) or asks(thing):
        return False
    # Whoever wants a secret remembered is told why it isn't.
    return holds_secret(thing) or not (_NONE.search(thing) or _SAID_BEFORE.search(thing))


_ASKS: dict[commands.MemorySign, Any] = {
    "remember": compiled(
        rf"{ZH.remember}|{ZH.keep_in_mind}|\b(?:{EN.remember}|{EN.keep_in_mind}|remember|memori[sz]e)\b"
    ),
    "forget": compiled(rf"{ZH.forget}|{ZH.forget_all}|\b(?:{EN.forget}|{EN.forget_all})\b"),
}


def memory_signs(text: str) -> frozenset[commands.MemorySign]:
    """Which of it a normalised text has words for, anywhere: a model may be what understands it."""
    return frozenset(sign for sign, words in _ASKS.items() if words.search(text))


_PREFIX = "memory:"
FORGET_ALL, KEEP_ALL = f"{_PREFIX}forget-all", f"{_PREFIX}keep-all"


def forgetting(memory: str) -> str:
    """What the button is worth that has the one of this id forgotten."""
    return f"{_PREFIX}forget:{memory}"


def pressed(value: object) -> commands.Forget | None:
    """What such a button has done, without an id or `all` nothing; None: it is another button."""
    if not isinstance(value, str) or not value.startswith(_PREFIX):
        return None
    if value == FORGET_ALL:
        return commands.Forget(all=True, sure=True)
    return commands.Forget(id=value.removeprefix(f"{_PREFIX}forget:")[:64] * (value != KEEP_ALL))


def remembering(utterance: Utterance, locale: Locale) -> tuple[Route, MemoryWish] | None:
    """The route and the wish, where the message is such a one."""
    wish = memory_wish(utterance)
    return None if wish is None else (_REASONS[type(wish)].route(locale), wish)


def forgotten_by_button(
    offered: Iterable[Option], text: str, locale: Locale
) -> tuple[Route, MemoryWish] | None:
    """What a button has forgotten whose very words were typed: 撤销 is said of requests too."""
    words = text.strip(" .!")
    same = (option for option in offered if normalise(option.label).text == words)
    wish = next((wish for option in same if (wish := pressed(option.value))), None)
    if wish is None:
        return None
    return why.FORGOTTEN.route(locale).replace(by="slot"), wish


_REASONS: dict[type, why.Reason] = {
    commands.Remember: why.REMEMBERED,
    commands.Forget: why.FORGOTTEN,
    commands.ListMemories: why.MEMORIES,
}


def to_remember(text: str) -> str:
    """The text as it is kept, on one line; `InvalidInput` says why it can't be, in both languages.

    What looks like a secret is no memory: it would be shown, and told to a model.
    """
    said = " ".join(visible(text).split())
    wrong = None
    if not any(each.isalnum() for each in said):
        wrong = Localised(zh="没有说要记住什么", en="it doesn't say what is to be remembered")
    elif len(said) > LONGEST_MEMORY:
        zh = f"太长了：有 {len(said)} 个字，一件事最多 {LONGEST_MEMORY} 个"
        en = f"it has {len(said)} characters; one thing may have {LONGEST_MEMORY}"
        wrong = Localised(zh=zh, en=en)
    elif holds_secret(said):
        zh = "看起来有密码、证件号或银行卡号，这样的内容不记。请放在密码管理器里"
        en = "it looks like a password, a card or an identity number, and such isn't remembered: "
        wrong = Localised(zh=zh, en=f"{en}keep it in a password manager")
    if wrong is not None:
        shown = Localised(zh=f"没有记住：{wrong.zh}。", en=f"Not remembered: {wrong.en}.")
        raise InvalidInput(shown, [FieldProblem("text", wrong.en)])
    return said
