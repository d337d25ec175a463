"""DingTalk: a robot's messages in, by HTTP or its stream; Markdown and interactive cards out.

`shapes` reads and makes what travels, `open_api` posts it, `entrance` takes in what comes.
DingTalk's own library isn't used: see docs/libraries.md.
"""

from router.channels.platforms.dingtalk.entrance import PLATFORM

__all__ = ["PLATFORM"]
