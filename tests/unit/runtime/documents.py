"""Documents of configuration that tests write: a flow with an approval, a skill, a tool, a desk."""

import json
from collections.abc import Iterable
from types import MappingProxyType

from activities.capabilities import Capabilities
from router.directory.tenants import TenantEntry
from router.domain.configuration_documents import ConfigurationDocument, DocumentKind
from router.runtime.configuration_kinds import ConfigurationKinds, ToolsBySystem
from router.runtime.editions import DraftEdition, drafted
from router.settings import Settings


def overtime(
    version: int = 1, said: str = "Overtime is noted", hours: int = 12, **more: str
) -> str:
    """A flow that asks for hours, has the manager approve them and says so."""
    patterns = more.get("patterns", "['^(?:log )?overtime', '加班']")
    return f"""\
# 加班 ▸ the manager agrees.
flow: overtime
version: {version}
title: {{zh: "加班申请", en: "Overtime"}}
description: {{zh: "登记加班", en: "Log overtime that was worked"}}
triggers:
  roles: [employee]
  patterns: {patterns}
  examples: ["log overtime", "我要报加班"]
slots:
  hours:
    type: integer
    label: {{zh: "小时", en: "Hours"}}
    ask: {{zh: "加班几小时？", en: "How many hours?"}}
    check:
      - that: "slots.hours <= {hours}.0"
        say: {{zh: "太多了", en: "That is too many."}}
start: gather
states:
  gather: {{collect: [hours], next: agree}}
  agree:
    approve:
      by: manager(requester)
      title: {{zh: "{{{{ requester.name }}}} 加班", en: "Overtime of {{{{ requester.name }}}}"}}
    approved: noted
    rejected: turned_down
  noted: {{say: {{zh: "已登记", en: "{said}"}}, end: completed}}
  turned_down: {{say: {{zh: "没有批准", en: "It was turned down."}}, end: rejected}}
"""


SKILL = """\
---
name: travel-tips
description: Gives tips for business trips, such as which trains to take.
---
Say which train to take, and nothing else.
"""

PERSONA = "name: {zh: 小桥, en: Bridge}\ngreeting: {zh: 你好，我是小桥。, en: Hello from Bridge.}\n"


def weather(url: str = "https://weather.example.com/{city}", **more: object) -> str:
    """A declared tool that reads the weather."""
    city = {"type": "string", "description": "The city"}
    declared = {
        "name": "get_weather",
        "title": {"zh": "查天气", "en": "Weather"},
        "description": "Get the weather of a city.",
        "parameters": {"type": "object", "properties": {"city": city}, "required": ["city"]},
        "endpoint": {"method": "GET", "url": url},
        **more,
    }
    return json.dumps(declared, indent=2, ensure_ascii=False)


def server(name: str = "crm", **more: object) -> str:
    """An MCP server at an address."""
    return json.dumps({name: {"url": "https://crm.example.com/mcp", **more}}, indent=2)


SOUND: dict[DocumentKind, tuple[str, str]] = {
    "flows": ("overtime", overtime()),
    "skills": ("travel-tips", SKILL),
    "personas": ("desk", PERSONA),
    "stories": ("overtime", "- story: a\n  steps: [{user: hello}]\n"),
}
"""By kind of the core, a name and a text that fit the shipped files."""


def calling(tool: str, argument: str = "city") -> str:
    """The flow, which looks outside once overtime is agreed to."""
    look = (
        f"{{call: {tool}, with: {{{argument}: \"'x'\"}}, save: sky, next: noted, on_error: noted}}"
    )
    states = f"approved: look\n    rejected: turned_down\n  look: {look}\n"
    return overtime().replace("approved: noted\n    rejected: turned_down\n", states)


class Desk:
    """Lays documents of the tenant acme over the shipped files."""

    def __init__(
        self, settings: Settings, house: Capabilities, kinds: ConfigurationKinds | None = None
    ) -> None:
        self.settings = settings
        self.house = house
        self.kinds = kinds or ConfigurationKinds(settings)

    def __call__(
        self,
        *documents: tuple[DocumentKind, str, str],
        entry: TenantEntry | None = None,
        listed: ToolsBySystem = MappingProxyType({}),
    ) -> DraftEdition:
        made = [ConfigurationDocument(kind=k, name=n, text=t) for k, n, t in documents]
        return drafted(
            self.settings,
            self.house,
            made,
            "acme",
            entry or TenantEntry(),
            self.kinds,
            listed,
        )


def said(problems: Iterable[object]) -> str:
    return "\n".join(map(str, problems))
