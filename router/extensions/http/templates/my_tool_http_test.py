"""What `my_tool` asks its server for, and what it makes of the answer."""

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import ClassVar

from router.domain.principals import Principal
from router.extensions.http.declarations import load_http_tools
from router.outbound.client import Sender
from router.outbound.guard import OutboundGuard
from router.tool.context import Dependencies, ToolContext

FILE = Path(__file__).parent / "my_tool.json"
ALICE = Principal(id="alice", name="Alice")


class Server(BaseHTTPRequestHandler):
    """Stands for the system behind the tool."""

    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(f"{self.path} for {self.headers['X-User']}")
        body = json.dumps({"id": "A-17", "state": "open", "secret": "x"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, args=[0.05])
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_it_asks_for_the_item_and_keeps_what_the_file_names() -> None:
    with serving() as origin:
        variables = {"ROUTER_TOOL_MY_TOOL_URL": origin}
        (tool,) = load_http_tools(FILE, variables, Sender(OutboundGuard([origin]))).tools
        log = logging.LoggerAdapter(logging.getLogger("my_tool"))
        context = ToolContext(ALICE, datetime(2026, 11, 18, 10, tzinfo=UTC), log)
        found = asyncio.run(tool.call({"id": "A-17"}, context, Dependencies()))
    assert found == {"id": "A-17", "state": "open"}
    assert Server.asked == ["/items/A-17 for alice"]
