"""The settings of declared tools, and what they refuse."""

import pytest

from router.domain.errors import MisconfiguredError
from router.extensions.http.settings import HttpSettings
from router.settings import Settings
from tests.table import each_row


@each_row(
    "value",
    ["api.example.com", '["api.example.com"]', '["http://u@a"]', '["http://a/b"]'],
)
def test_what_is_no_origin_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROUTER_HTTP_ALLOW", value)

    with pytest.raises(MisconfiguredError, match=r"^ROUTER_HTTP_ALLOW\b"):
        Settings(_env_file=None).section(HttpSettings)
