"""`python -m company.office [--port PORT] [--data FILE]`: the sample office, on loopback."""

import argparse

import uvicorn

from company.office.ledger import IN_MEMORY, Ledger
from company.office.service import office

LOOPBACK = "127.0.0.1"


def main() -> None:
    """Serve until a signal comes."""
    parser = argparse.ArgumentParser(prog="python -m company.office", description=__doc__)
    parser.add_argument("--port", type=int, default=8070, help="the port, 8070 if you don't say")
    parser.add_argument("--data", default=IN_MEMORY, help="a SQLite file; otherwise in memory")
    given = parser.parse_args()
    ledger = Ledger(given.data)
    print(f"office   http://{LOOPBACK}:{given.port}", flush=True)
    try:
        uvicorn.run(office(ledger), host=LOOPBACK, port=given.port, log_level="warning")
    finally:
        ledger.close()


if __name__ == "__main__":
    main()
