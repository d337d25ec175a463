"""What people say around a request and don't mean: pieces for the `phrases` of tools."""

_BEFORE = (
    "(?:你好|您好|请问|请|麻烦(?:你|您)?|帮我|帮忙|给我|我(?:想|要|想要|现在想)|想|要|能不能|可以|能|那|再"
    "|查(?:一?下|询|看|查)?|看(?:一?下|看)?|问(?:一?下|问)?|告诉我|知道"
    "|hi|hello|hey|please|pls|can you|could you|would you|can i|could i|may i|i(?:'d like| want"
    "| need| would like) to|let me|tell me|show(?: me)?|see|view|check|know|[,.!~ ])*"
)
_AFTER = (
    "(?:吧|了|啊|呀|呢|嘛|吗|来着|一下|下|谢谢(?:你|您)?|好吗|行吗|可以吗|please|pls|thanks"
    "|thank you|now|for me|[,.!?~ ])*"
)
REQUEST = "(?:{NAME_ZH}|申请|单子|流程)(?:申请|单|流程|条)?"
"""A request of one's own, in Chinese, whatever flow it is of."""
OWN = (
    "(?:我|我们)?(?:的|上次|上周|上个月|昨天|前天|今天|刚才|刚刚|之前|最近|提交|交|申请"
    "|那|这|个|条|份|笔|次)*"
)
REQUEST_EN = (
    "(?:(?:latest|last|recent|pending|open) )*(?:{NAME_EN}|requests?|applications?)"
    "(?: (?:{NAME_EN}|requests?|applications?))*"
)


def whole(source: str) -> str:
    """A phrase for a whole message that is this, but for what is said around it."""
    return f"^{_BEFORE}(?:{source}){_AFTER}$"
