from router.entities.normalisation import normalise
from router.understanding.dialogue_acts import (
    act_of,
    asks_again,
    asks_for_a_person,
    asks_what_is_here,
    withdraws,
)
from tests.table import each_row
from tests.unit.entities.tables import spread, typed

SKIPS = """
    跳过  先跳过吧  跳过这一项  这个先跳过  先不填  不填  不想填  空着  先空着  留空  下一个
    下一题吧  略过  跳过，谢谢  跳過
    skip  skip it  skip this one  Skip this question, please  can I skip this?
    let's skip it for now  n/a  N/A  pass  leave it blank  leave this empty  next
    I'd rather not say  next question  not applicable
"""
HELP = """
    帮助  怎么填  这个怎么填？  我不懂  看不懂  不太明白  有哪些选项  有什么选项？  能填什么
    可以填什么  这里填什么  我该填什么  不知道怎么填  什么意思？  你能做什么
    help  Help!  help me  I need help  what can I say  what are my options?  ?  ？？
    what should I enter here?  I don't understand  options  how do I answer this
    what does that mean?  what can you do
"""
REPEATS = """
    再说一遍  再说一次  请再说一遍  能再说一遍吗  什么？  啥  刚才问的什么  没听清  没看清
    你刚才问什么来着  你刚才说什么  重复一遍  问的是什么来着  再问一遍
    repeat that  repeat  Could you repeat the question?  come again?  pardon?  pardon me
    say that again please  what?  what did you say?  what was the question?  I didn't catch that
    sorry, what?  ask me again
"""
STARTS_OVER = """
    从头来  从头再来  从头开始  重新来  重新填  重新填一遍  重来  我想从头来  全部重来  重新开始吧
    推倒重来  前面的都不算  重來
    start over  Start over please  let's start over  can we start again  restart  restart the form
    from scratch  from the beginning  start from scratch  reset  begin again  redo everything
    go back to the start
"""
NONE_OF_THEM = """
    跳过会议室预定  跳过午饭直接开会  帮助搬家  帮助同事  重新装修  从头疗养  下个月  下一个工作日
    换下一个航班  什么假  什么时候  没有  没有时间  再说吧  家里有事  不舒服  明天  好的  算了  取消
    重新申请护照  我不懂医保怎么报  说明会
    help me with a leave request  repeat order  from the beginning of May  next Monday  next week
    pass the exam  skip the meeting  start on Monday  restart the server  what about Friday
    help desk duty  help my parents move  repeat prescription pickup  the meeting started over
    options trading course  none  no  yes  sorry
"""


@each_row(
    ("act", "typed"),
    [
        *spread(("skip", SKIPS), ("help", HELP), ("repeat", REPEATS), ("start_over", STARTS_OVER)),
        *spread((None, NONE_OF_THEM), (None, "跳过" * 40), (None, "")),
    ],
)
def test_an_act_is_the_whole_message(typed: str, act: str | None) -> None:
    assert act_of(normalise(typed).text) == act


@typed("""
    没有  无  暂无  不填了  没有了  不用  没什么
    none  nothing  no  nothing to add
""")
def test_what_may_be_left_empty_is_by_saying_that_there_is_none(typed: str) -> None:
    text = normalise(typed).text
    assert (act_of(text, optional=True), act_of(text)) == ("skip", None)


@each_row("typed", ["下一个", "next", "next one"])
def test_the_next_one_of_a_list_is_another_item(typed: str) -> None:
    text = normalise(typed).text
    assert (act_of(text, listed=True), act_of(text)) == (None, "skip")


@each_row(
    ("here", "typed"),
    spread(
        (True, "你能做什么  你会什么  你都能干什么  有什么功能  你可以帮我做什么  帮助  菜单  ？"),
        (True, "这里能办什么  help  what can you do  what can you help me with?"),
        (True, "How can you help me  what can I ask you"),
        (False, "怎么填  我能做什么运动  你能做饭吗  帮助搬家  你是谁  help me book"),
        (False, "what can you do about my laptop  what are you doing  help desk"),
    ),
)
def test_it_asks_what_can_be_done_here(typed: str, here: bool) -> None:
    assert asks_what_is_here(normalise(typed).text) is here


def test_the_last_words_are_asked_for_again() -> None:
    assert asks_again(normalise("再说一遍？").text)
    assert not asks_again(normalise("再买一遍").text)


FOR_A_PERSON = """
    转人工  人工  人工客服  找人工  我要找人工客服  能不能转人工？  帮我转接人工  有真人吗
    有没有人工客服  有人工吗  人工服务  请帮我找个真人  我想和真人聊聊  我想跟人说  找个人来
    我要投诉，转人工  转人工，我的工资算错了  找客服问一下工资  叫客服来处理一下
    我不想跟机器人说话，转人工  别绕了，找人工  客服在吗  人工客服在吗？  talk to a human
    I want to talk to a real person  can I speak to someone?
    Can I speak to a human agent please  agent  human please  operator
    I'd like to chat with a live agent  is there a real person I can talk to?  get me a human
    connect me to an agent  transfer me to a human  I need to speak to a person about my payslip
    please let me talk to somebody  customer service  let me speak with a representative
"""
OF_PEOPLE = """
    不要人工  不用转人工  我不想找人工  别转人工  don't transfer me to a human  no human please
    I don't need an agent  人工费，500元  The speaker is a human  帮我算一下人工成本
    人工智能研讨会什么时候开  请把问题转给客服系统的接口文档看看  客服部的张三是谁
    客服部电话多少  我要报销人工费  真人秀的票能报销吗  让人来修一下空调  找人事问一下年假
    查一下客服中心的地址  人工费怎么报销  跟客户聊一聊的餐费报销  这个人工翻译费能报吗
    人工审核要多久  转人工智能部门的流程  客服岗位加班怎么算  make an operator change request
    the agent fee reimbursement  human resources policy  what does human resources do
    how do I become an agent  real person tax form  travel agent invoice
    who is my contact person  book a travel agent  how much is the operator license
    the real agent's commission was 300 yuan
    I talked to a person at the hotel, reimburse my taxi  talk to Bob about leave
"""


@each_row(("wanted", "said"), [*spread((True, FOR_A_PERSON)), *spread((False, OF_PEOPLE))])
def test_a_person_is_wanted_by_a_whole_wish_for_one(wanted: bool, said: str) -> None:
    assert asks_for_a_person(normalise(said).text) is wanted


WITHDRAWS = """
    撤回  撤回吧  撤回来  撤了吧  帮我撤回  撤回这个申请  把申请撤回  我想撤回  刚才那个撤回吧
    可以撤回吗
    take it back  withdraw it  withdraw  please withdraw my request  take that back please
"""
OF_A_KIND = """
    撤回我的请假  撤回报销  取消我的请假  撤离办公室  撤回昨天的邮件
    withdraw my leave request  take it back to the shop  withdraw cash
"""


@each_row(("taken", "typed"), spread((True, WITHDRAWS), (False, OF_A_KIND), (False, "")))
def test_it_takes_back_what_was_handed_in_unless_it_names_a_kind(typed: str, taken: bool) -> None:
    assert withdraws(normalise(typed).text) is taken
