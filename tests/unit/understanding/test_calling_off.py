import pytest

from router.entities.normalisation import normalise
from router.understanding.dialogue_acts import calls_off


@pytest.mark.parametrize(
    "typed",
    [
        "取消",
        "取消吧",
        "取消申请",
        "算了",
        "算了不请了",
        "算了，不请了，谢谢",
        "不请了",
        "我不报了",
        "我不想请了",
        "先不请了",
        "不办了",
        "放弃",
        "退出",
        "cancel",
        "please cancel",
        "Cancel it.",
        "never mind",
        "nevermind",
        "forget it",
        "I changed my mind",
        "stop",
    ],
)
def test_it_is_called_off(typed: str) -> None:
    assert calls_off(normalise(typed).text)


@pytest.mark.parametrize(
    "typed",
    [
        "航班取消了",
        "会议取消，要改签",
        "不对",
        "不",
        "不舒服",
        "don't cancel",
        "my flight was cancelled",
        "年假",
        "明天",
        "stop by the office on Monday",
        "",
    ],
)
def test_it_is_not(typed: str) -> None:
    assert not calls_off(normalise(typed).text)
