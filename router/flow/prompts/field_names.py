"""Chinese words for the field names and fixed values that results have in common.

Results are shown as they are where no model puts them into words. What one tool's results alone
have is declared beside the tool (`name_in_chinese`); whatever isn't known keeps its name.
"""

from collections.abc import Mapping

from router.domain.errors import FaultyValue
from router.flow.view import STATUSES

WordsByName = Mapping[str, str]

FIELDS: dict[str, str] = {
    "address": "地址",
    "amount": "金额",
    "announced": "节假安排已公布",
    "asked": "申请时间",
    "at": "时间",
    "by": "操作人",
    "city": "城市",
    "content": "内容",
    "country": "国家",
    "currency": "币种",
    "date": "日期",
    "day": "日期",
    "days": "天数",
    "department": "部门",
    "due": "截止时间",
    "end": "结束",
    "errors": "错误输出",
    "expression": "算式",
    "file": "文件",
    "files": "附件",
    "flow": "流程",
    "id": "编号",
    "manager": "上级",
    "more": "还有更多",
    "name": "姓名",
    "note": "备注",
    "others": "其他",
    "outcome": "结果",
    "output": "输出",
    "page": "页",
    "pages": "总页数",
    "path": "路径",
    "people": "人员",
    "place": "地点",
    "question": "问题",
    "read_more": "续读编号",
    "reason": "原因",
    "records": "记录",
    "request": "申请",
    "result": "结果",
    "said": "说明",
    "since": "开始时间",
    "size": "字节数",
    "source": "来源",
    "start": "开始",
    "state": "步骤",
    "status": "状态",
    "summary": "概况",
    "text": "内容",
    "time": "时间",
    "timezone": "时区",
    "title": "标题",
    "total": "合计",
    "type": "类型",
    "url": "网址",
    "value": "数值",
    "waits_for": "等待",
    "weekday": "星期",
    "workday": "工作日",
    "workdays": "工作日数",
    "year": "年份",
}

VALUES: dict[str, WordsByName] = {
    "status": {
        **{status: words.zh for status, words in STATUSES.items()},
        "submitted": "已提交",
        "settled": "已入账",
        "withdrawn": "已撤回",
        "standing": "有效",
        "reverted": "已撤销",
        "booked": "已登记",
    },
    "outcome": {
        "withdrawn": "已撤回",
        "under_way": "正在撤回",
        "asked": "等审批后撤回",
        "reminded": "已提醒",
        "reminded_lately": "刚刚提醒过",
        "nobody_awaited": "没有在等审批",
        "already_over": "已经结束",
    },
}
"""By the name of the field: what one field calls personal another may mean otherwise."""


def name_in_chinese(fields: WordsByName, values: Mapping[str, WordsByName] | None = None) -> None:
    """Declare what fields of a tool's results are called, and fixed values by their field.

    Raises `ValueError` where another tool calls one of them otherwise.
    """
    values = values or {}
    for name in fields.keys() & FIELDS.keys():
        _same(name, FIELDS[name], fields[name])
    for name in values.keys() & VALUES.keys():
        _same(name, VALUES[name], values[name])
    FIELDS.update(fields)
    VALUES.update(values)


def _same(name: str, known: object, given: object) -> None:
    if known != given:
        raise FaultyValue(f"{name} is called otherwise by another tool", "rename the field")
