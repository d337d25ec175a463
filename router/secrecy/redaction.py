"""What is personal or secret taken out of what is logged or traced.

Texts of messages aren't logged in the first place. This is the net below that: errors quote what
they failed on, and libraries log what they like.

>>> redact("mail to alice@example.com, call 13812345678")
'mail to [email], call [phone]'
"""

import logging
import re
from collections.abc import Callable

from pydantic import JsonValue
from temporalio.exceptions import FailureError

_SEEN = 20_000
"""Characters of one text that are looked at; what is longer is cut, since nobody looked at it."""

_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_URL_PASSWORD = re.compile(r"(?<=://)[^\s/@:]{0,200}:[^\s/@]{1,200}(?=@)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}")
_JWT = re.compile(r"\beyJ[\w-]{5,2000}\.[\w-]{5,2000}\.?[\w-]{0,2000}")
_KNOWN_SECRET = re.compile(
    r"\b(?:sk|pk|rk|xox[abeoprs]|xapp|gh[opsu]|github_pat|glpat|AKIA)[-_]?[A-Za-z0-9][\w-]{14,}"
)
_NAMED_SECRET = re.compile(
    r"""(?ix)
    \b([\w-]{0,40}(?:password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|密码|口令|密钥))
    (["']?\s{0,3}[:=：]\s{0,3}["']?)
    (?!\[)[^\s"',;&}，；]{3,}
    """
)
_CHINESE_ID = re.compile(
    r"(?<![A-Za-z0-9])[1-9]\d{5}(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx](?![A-Za-z0-9])"
)
_SOCIAL_SECURITY = re.compile(
    r"(?<![\d-])(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])"
)
_CARD = re.compile(r"(?<![A-Za-z0-9-])\d(?:[ -]?\d){13,18}(?![A-Za-z0-9-])")
_CHINESE_MOBILE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:\+|00)?86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?![A-Za-z0-9])"
)
_INTERNATIONAL = re.compile(
    r"(?<![A-Za-z0-9+])\+[1-9]\d{0,2}(?:[ .()-]{0,2}\d){6,12}(?![A-Za-z0-9])"
)
_NORTH_AMERICAN = re.compile(
    r"(?<![A-Za-z0-9-])(?:\(\d{3}\) ?|\d{3}[-.])\d{3}[-.]\d{4}(?![A-Za-z0-9-])"
)
_CHINESE_LANDLINE = re.compile(r"(?<![A-Za-z0-9-])0\d{2,3}-\d{7,8}(?![A-Za-z0-9-])")

_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]{0,60}://)(?:[^\s/?#]*@)?([^\s?#]*)(?:[?#]\S*)?")

Replacement = str | Callable[[re.Match[str]], str]


def _card(found: re.Match[str]) -> str:
    """A number that has a card's check digit; any other is what it is, an id or a moment."""
    digits = [int(c) for c in found[0] if c.isdigit()]
    doubled = [sum(divmod(2 * d, 10)) for d in digits[-2::-2]]
    return "[card]" if (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0 else found[0]


# In this order: what is longer or surer of itself first.
_RULES: tuple[tuple[re.Pattern[str], Replacement], ...] = (
    (_URL_PASSWORD, "[secret]"),
    (_BEARER, r"\1 [secret]"),
    (_JWT, "[secret]"),
    (_KNOWN_SECRET, "[secret]"),
    (_NAMED_SECRET, r"\1\2[secret]"),
    (_EMAIL, "[email]"),
    (_CHINESE_ID, "[national id]"),
    (_SOCIAL_SECURITY, "[national id]"),
    (_CARD, _card),
    (_INTERNATIONAL, "[phone]"),
    (_CHINESE_MOBILE, "[phone]"),
    (_NORTH_AMERICAN, "[phone]"),
    (_CHINESE_LANDLINE, "[phone]"),
)


def redact(text: str) -> str:
    """The text with a word in brackets for everything personal or secret in it."""
    if len(text) > _SEEN:
        text = f"{text[:_SEEN]}… ({len(text)} characters)"
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text


_SAID_SECRET = re.compile(
    r"""(?ix)
    (?:密码|口令|密钥|验证码|支付码|\b(?:password|passcode|passphrase|pass\s?code|pin(?:\s?code)?|secret|token
    |api[\s_-]?key|access[\s_-]?key|cvv))
    \s{0,3}(?:是|为|叫|改成|:|：|=|\bis\b|\bare\b)\s{0,3}
    [^\s，。,；;]{3,}
    """
)
_GRAVE = ("[secret]", "[card]", "[national id]")


def holds_secret(text: str) -> bool:
    """True where a text has what nobody should keep: a password, a card's number, a person's.

    >>> [holds_secret(t) for t in ("我的密码是 hunter2", "my PIN is 4812", "我在上海办公室")]
    [True, True, False]
    """
    return bool(_SAID_SECRET.search(text)) or any(word in redact(text) for word in _GRAVE)


def redacted(value: JsonValue, name: str = "") -> JsonValue:
    """The value with `redact` done to every text in it; one may be a secret by its `name` alone.

    >>> redacted({"to": "alice@example.com", "password": "hunter2", "days": 3})
    {'to': '[email]', 'password': '[secret]', 'days': 3}
    """
    if isinstance(value, dict):
        return {key: redacted(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [redacted(inner, name) for inner in value]
    if isinstance(value, bool) or value is None:
        return value
    said = redact(f"{name}: {value}").removeprefix(f"{name}: ")
    return value if said == str(value) else said


class Redacting(logging.Filter):
    """Put on a handler, it redacts whatever that writes: message, traceback and all.

    Of a failure that was raised on purpose the type alone is kept: its words may quote a person's.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Redact the record; it is never held back."""
        message, error = record.getMessage(), record.exc_info and record.exc_info[1]
        if isinstance(error, FailureError):
            record.exc_info = record.exc_text = None
            message += f": {getattr(error, 'type', None) or type(error).__name__}"
        elif record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        record.msg, record.args = redact(message), ()
        record.exc_text = redact(record.exc_text) if record.exc_text else None
        record.stack_info = redact(record.stack_info) if record.stack_info else None
        return True


def redact_logs() -> None:
    """Have every handler of this process's root logger redact what it writes."""
    for handler in logging.getLogger().handlers:
        if not any(isinstance(each, Redacting) for each in handler.filters):
            handler.addFilter(Redacting())


def bare_addresses(text: str) -> str:
    """The text, its addresses without what may be a secret in them: user, query and fragment.

    >>> bare_addresses("qwen at https://me:s3cret@llm.example/v1?key=s3cret answers")
    'qwen at https://llm.example/v1 answers'
    """
    return _ADDRESS.sub(r"\1\2", text)
