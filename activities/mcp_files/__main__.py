"""`python -m activities.mcp_files FOLDER [--http PORT]`: over stdio, or HTTP on loopback."""

import argparse
import sys
from pathlib import Path

import uvicorn

from activities.mcp_files.folder import FolderRefused, ServedFolder
from activities.mcp_files.server import server_of

LOOPBACK = "127.0.0.1"


def main() -> None:
    """Serve until the input ends, or until a signal comes."""
    parser = argparse.ArgumentParser(prog="python -m activities.mcp_files", description=__doc__)
    parser.add_argument("folder", type=Path, help="the only folder that is read and written")
    parser.add_argument("--http", type=int, metavar="PORT", help="serve http://127.0.0.1:PORT/mcp")
    given = parser.parse_args()
    try:
        server = server_of(ServedFolder(given.folder))
    except FolderRefused as error:
        sys.exit(f"error: {error}")
    if given.http is None:
        server.run("stdio")
    else:
        # With an end to patience: a client that listens for news keeps its connection open.
        uvicorn.run(
            server.streamable_http_app(host=LOOPBACK),
            host=LOOPBACK,
            port=given.http,
            log_level="warning",
            timeout_graceful_shutdown=1,
        )


if __name__ == "__main__":
    main()
