"""Whose illness or wedding it is: `妈妈住院` is no sick leave of one's own, `我住院` is."""

from router.understanding.grammar import compiled

# What happens to a person, and only hints at a choice for the one to whom it happens.
_HAPPENS = compiled(
    "病|不舒服|发烧|感冒|住院|看医生|结婚|婚礼|生孩子|分娩"
    r"|\b(?:sick|ill|flu|feeling well|doctor|wedding|married|giving birth)"
)
_OTHERS_ZH = (
    "[妈爸爷奶爹娘娃]|[父母]亲|父母|孩子|小孩|儿子|女儿|宝宝|老婆|老公|媳妇|妻子|丈夫|爱人|对象|外[婆公]"
    "|姥[姥爷]|岳[父母]|公公|婆婆|家人|家里人|家属|老人|朋友|同学|同事|闺蜜|兄弟|[哥姐弟妹]|表[哥姐弟妹]"
    "|[他她它]|猫|狗|亲戚|舅|姑|叔|姨|伯"
)
_OTHERS_EN = (
    r"(?:son|daughter|kids?|child|children|baby|wife|husband|spouse|partner|mother|mom|mum|father"
    "|dad|parents?|brother|sister|grand(?:ma|pa|mother|father|parents?)|uncle|aunt|cousin|friend|dog"
    "|cat|colleague|family|he|she|they|in-law|niece|nephew|girlfriend|boyfriend|toddler)(?:'s|s')?"
)
_ANOTHER_BEFORE = compiled(
    rf"(?:{_OTHERS_ZH})[^,.;!?我]*$|\b{_OTHERS_EN}\b(?:[^,.;!?]*[^a-z,.;!?])?$"
)
_ANOTHER_AFTER = compiled(
    rf"^[^,.;!?我]{{0,4}}的?(?:{_OTHERS_ZH})|^ (?:of|for|with) my {_OTHERS_EN}\b"
)
_MYSELF = compiled(r"我(?:自己|也)|\bi(?:'m| am| have| was| feel| caught| got)\b[^,.;!?]*$")
_CLAUSE = 40


def is_anothers(text: str, start: int, end: int) -> bool:
    """True where the words there happen to somebody else, and so say nothing of the speaker.

    >>> is_anothers("妈妈住院了", 2, 4), is_anothers("我住院了", 1, 3)
    (True, False)
    """
    if _HAPPENS.search(text[start:end]) is None:
        return False
    before, after = text[:start][-_CLAUSE:], text[end:][:_CLAUSE]
    if _MYSELF.search(before):
        return False
    return _ANOTHER_BEFORE.search(before) is not None or _ANOTHER_AFTER.search(after) is not None
