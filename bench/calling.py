"""HTTP/1.1 over connections that are kept: a fifth of the processor time of a whole client.

What makes the load shares the processors with what bears it.
"""

import asyncio
import json
from typing import Any


class Caller:
    """POSTs to one port, each over an idle connection, or over a new one where none is idle."""

    def __init__(self, port: int, user: str = "") -> None:
        self._port = port
        self._head = "Host: 127.0.0.1\r\n" + (f"Authorization: Bearer {user}\r\n" if user else "")
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []

    async def post(self, path: str, body: bytes) -> tuple[int, bytes]:
        """Status and body of the answer."""
        head = f"POST {path} HTTP/1.1\r\n{self._head}Content-Type: application/json\r\n"
        return await self._exchanged(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    async def get(self, path: str) -> tuple[int, bytes]:
        return await self._exchanged(f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode())

    async def told(self, path: str, said: Any) -> tuple[int, Any]:
        """The same in JSON, both ways."""
        status, body = await self.post(path, json.dumps(said).encode())
        return status, json.loads(body)

    def close(self) -> None:
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()

    async def _exchanged(self, request: bytes) -> tuple[int, bytes]:
        reader, writer = await self._connection()
        writer.write(request)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionResetError) as error:
            if getattr(error, "partial", b""):
                raise
            # The server hung up on the idle connection at the same moment.
            writer.close()
            return await self._exchanged(request)
        lines = head.decode("latin-1").lower().split("\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        body = await reader.readexactly(length)
        self._idle.append((reader, writer))
        return int(lines[0].split()[1]), body

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer = self._idle.pop()
            if not reader.at_eof():  # a server hangs up after some seconds
                return reader, writer
            writer.close()
        return await asyncio.open_connection("127.0.0.1", self._port)
