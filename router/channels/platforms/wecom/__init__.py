"""WeCom (企业微信): a self-built app, and a robot in groups.

`callbacks` tells what is ours and what people did, `template_cards` makes what they see,
`server_api` posts it, `entrance` takes in what comes. No library for this is kept up: see
docs/libraries.md.
"""

from router.channels.platforms.wecom.entrance import PLATFORM

__all__ = ["PLATFORM"]
