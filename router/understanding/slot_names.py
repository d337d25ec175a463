"""What people call a slot when they speak of it."""

from router.flow.model import Slot
from router.understanding.normalise import normalise

_PARTS = {"start": "开始 起始 start from beginning", "end": "结束 截止 end until return"}
_COMMON = {
    "reason": "原因 理由 事由 reason",
    "amount": "金额 价格 钱数 amount price",
    "date": "日期 date",
    "category": "类别 类型 分类 category type",
    "invoice": "发票 发票号 invoice",
}


def words_of(name: str, slot: Slot) -> list[str]:
    """The words for it in both languages, normalised: its name, its label, what such are called."""
    words = [name.replace("_", " "), *_COMMON.get(name, "").split()]
    words += _PARTS.get(slot.part_of_range or "", "").split()
    if slot.label is not None:
        # What a Chinese noun is comes last: 请假类型 is a 类型.
        words += [slot.label.zh, slot.label.zh[-2:], slot.label.en]
    return [normalise(word).text for word in words]
