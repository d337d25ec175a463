from router.entities.booleans import opening_answer, yes_or_no
from router.entities.normalisation import normalise
from tests.table import each_row
from tests.unit.entities.tables import phrases

ANSWERS = {
    True: """
        好的  可以  没问题  是的  对  确认  嗯  行  好  好啊  好的呀  可以的  对的  是  没错  确定
        同意  提交  提交吧  当然  当然可以  嗯嗯  好的，没问题  是的是的  就这样  没毛病  👍
        OK  ok。  okay  yes  Yes!  sure  yep  yeah  yup  correct  right  confirm  yes please
        go ahead  that's right  sounds good
    """,
    False: """
        不  不是  不要  不对  否  算了  不用  不用了  不行  不可以  不需要  不好  没有  没  错了
        别  不了  不，谢谢  不是的  不同意
        no  nope  No.  nah  wrong  no thanks  not really  no way  that's wrong
    """,
    None: """
        好像是周三  是周五  对了还有一件事  不舒服  不知道  可以换成周五吗  行李  年假  嗯我想想  3
        yesterday  okra  no idea  right after lunch
    """,
}


@each_row(
    ("typed", "meant"),
    [("", None), *((said, meant) for meant, row in ANSWERS.items() for said in phrases(row))],
)
def test_yes_no_or_neither(typed: str, meant: bool | None) -> None:
    assert yes_or_no(normalise(typed).text) is meant


@each_row(
    ("typed", "said", "rest"),
    [
        ("不对，是下周二", False, "是下周二"),
        ("no, change the end date to Friday", False, "change the end date to friday"),
        ("好的，谢谢你帮忙看一下", True, "谢谢你帮忙看一下"),
    ],
)
def test_a_sentence_may_open_with_an_answer(typed: str, said: bool, rest: str) -> None:
    text = normalise(typed).text
    answer = opening_answer(text)
    assert answer is not None
    assert (answer[0], text[answer[1] :]) == (said, rest)


@each_row("typed", ["不舒服，想休息", "nothing, really", "下周二"])
def test_a_sentence_may_open_with_none(typed: str) -> None:
    assert opening_answer(normalise(typed).text) is None
