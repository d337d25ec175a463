"""Which addresses can be written at all: those that every parser reads alike."""

import pytest

from router.tool.http.endpoint import origin_of


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://api.example.com/v1?x=@", "https://api.example.com"),
        ("HTTPS://API.EXAMPLE.COM:443", "https://api.example.com"),
        ("http://127.0.0.1:9000/a", "http://127.0.0.1:9000"),
        ("https://[2606:4700::0:1111]/", "https://[2606:4700::1111]"),
        ("https://bücher.example", "https://xn--bcher-kva.example"),
        ("https://my_service.corp:8443", "https://my_service.corp:8443"),
    ],
)
def test_an_origin_has_one_spelling(url: str, origin: str) -> None:
    assert str(origin_of(url)) == origin


@pytest.mark.parametrize(
    "url",
    [
        *("https://user@api.example.com", "https://u:p@api.example.com", "https://@127.0.0.1"),
        *("https://api.example.com:80@127.0.0.1/", "https://api.example.com%40127.0.0.1/"),
        *("https://2130706433/", "https://0x7f000001/", "https://0x7f.0.0.1", "https://0177.0.0.1"),
        *(
            "https://127.1/",
            "https://127.0.1",
            "https://0/",
            "https://1.2.3.4.5/",
            "https://08.8.8.8",
        ),
        *("https://[fe80::1%25eth0]/", "https://[fe80::1%eth0]/", "https://[::1", "https://::1/"),
        *("https://api.example.com:0/", "https://api.example.com:99999/", "https://api:https/"),
        *("file:///etc/passwd", "gopher://127.0.0.1", "ftp://x.example", "//api.example.com", ""),
        *("javascript:alert(1)", "https:/api.example.com", "https:api.example.com", "https://"),
        *("https://api.example.com\r\nHost: evil", "https://api .example.com", "https://a\tb.c"),
        *("https://localhost./", "https://a..b/", "https://.example.com", "https://-a.example"),
        *("https://exa\\mple.com", "https://①②⑦.⓪.⓪.①/", "https://１２７.0.0.1/", "https://a%00.b"),
    ],
)
def test_what_parsers_may_read_differently_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"; "):
        origin_of(url)
