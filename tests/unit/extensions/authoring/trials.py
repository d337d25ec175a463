"""A small draft to try, its story file, and a tool that leaves a trace where it is called."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from activities.capabilities import Capabilities
from router.domain.errors import PermanentToolError
from router.runtime.definitions import load_capabilities
from router.settings import Settings
from router.tool.tool import Tool, tool

DRAFT = """\
flow: parking_permit
version: 1
title: {zh: 停车证, en: Parking permit}
description: {zh: 办停车证, en: A parking permit for a car.}
triggers:
  topics: ['停车证', 'parking permit']
  examples: [我要办停车证, I need a parking permit]
slots:
  plate:
    type: text
    label: {zh: 车牌, en: Plate}
    ask: {zh: 车牌号是多少？, en: What is the number plate?}
start: details
states:
  details: {collect: [plate], next: review}
  review:
    confirm: {zh: "给 {{ shown.plate }} 办停车证，提交吗？", en: "A permit for {{ shown.plate }}?"}
    confirmed: manager
    declined: details
  manager:
    approve:
      by: "manager(requester)"
      title: {zh: "停车证 {{ shown.plate }}", en: "Parking permit {{ shown.plate }}"}
      expire_after: P7D
    approved: issue
    rejected: tell_no
    returned: details
    expired: tell_no
  issue:
    call: issue_permit
    with: {plate: "slots.plate"}
    save: permit
    next: tell_yes
    on_error: tell_failed
  tell_yes:
    say: {zh: "办好了，编号 {{ results.permit.number }}。", en: "{{ results.permit.number }}."}
    end: completed
  tell_no: {say: {zh: "没有批准。", en: "It wasn't approved."}, end: rejected}
  tell_failed: {say: {zh: "没有办成。", en: "It can't be issued now."}, end: failed}
"""
STORIES = """\
# What stands here stays as it is, to the byte.

- story: a permit is issued
  steps:
    - user: 我要办停车证
    - bot: 车牌
    - user: 京A12345
    - user: {confirm: true}
    - approver: {bob: approve}
    - bot: 办好了
    - tool: issue_permit
      with: {plate: 京A12345}
      times: 1
    - expect: {status: completed}
"""
ASKED: list[dict[str, Any]] = [
    {"user": "我要办停车证"},
    {"user": "京A12345"},
    {"user": {"confirm": True}},
]
APPROVED: list[dict[str, Any]] = [*ASKED, {"approver": "bob", "decides": "approve"}]


class Permit(BaseModel):
    """A permit that was issued."""

    number: str
    spaces: int


def spying(trace: Path) -> Tool:
    """A tool that writes where it is called, and where its rules are asked."""

    def leave(what: str) -> None:
        trace.write_text(what)

    async def checked(plate: str) -> None:
        leave(f"asked about {plate}")
        raise PermanentToolError("this plate gets no permit")

    async def issue_permit(plate: str) -> Permit:
        """Issue a parking permit."""
        leave(f"called for {plate}")
        return Permit(number="real", spaces=1)

    made = tool(permission="write", roles=["flow"], check=checked)
    return made(issue_permit)


def offering(trace: Path) -> Capabilities:
    """What ships, with that tool."""
    whole = load_capabilities(Settings())
    whole.registry.add(spying(trace))
    return whole
