from router.entities.normalisation import normalise
from router.understanding.dialogue_acts import asks, farewell, greets, says_nothing, thanks
from tests.table import each_row
from tests.unit.entities.tables import spread

NOTHING = """
    hi there  Hey team  hi Bob  Hi bot  Morning!  hello  hope you're well  quick one
    sorry to bother you  excuse me  thanks a lot  Best regards  no sorry  actually  if that's ok
    please approve  by the way
    你好  领导好  HR 你好  王经理好  张总  各位早上好  打扰了  谢谢领导  请领导批准  哦不  我说错了
    我想先  好的  麻烦您了
"""
SOMETHING = """
    family visit  dentist  kids  moving house  hiking  high fever  morning sickness  no childcare
    sorry to say my dad died
    家里有事  身体不好  孩子不好  陪老师  急诊  急性肠胃炎  感谢会  搬家  不舒服  好朋友结婚
    家里好像漏水
"""


@each_row(("nothing", "typed"), spread((True, NOTHING), (False, SOMETHING)))
def test_what_is_said_out_of_politeness_alone_says_nothing(typed: str, nothing: bool) -> None:
    assert says_nothing(normalise(typed).text) is nothing


@each_row(
    ("question", "typed"),
    spread(
        (True, "顺便问下要带什么材料  需要什么材料  要审批吗  what documents do I need"),
        (True, "by the way, can I split it"),
        (False, "没什么特别的  怎么都睡不着  需要做手术  when my kid is ill  whooping cough"),
    ),
)
def test_a_question_is_told_from_a_statement(typed: str, question: bool) -> None:
    assert asks(normalise(typed).text) is question


@each_row(
    ("name", "typed"),
    spread(
        ("Frank", "one day, best regards, Frank  a day off please. Thanks, Frank"),
        ("Alice Wu", "tomorrow off. Yours sincerely, Alice Wu"),
        ("", "tomorrow off, thanks, dentist  tomorrow off, thanks  regards"),
    ),
)
def test_a_message_may_be_signed(typed: str, name: str) -> None:
    text = normalise(typed)
    assert text.as_typed(farewell(text), len(text.text)) == name


def test_a_greeting_and_thanks_are_the_whole_message() -> None:
    assert [greets(said) for said in ("hi there!", "你好,我想请假")] == [True, False]
    assert [thanks(said) for said in ("好的,谢谢你", "好的")] == [True, False]
