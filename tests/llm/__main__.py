"""`make test-llm`: fetch the models, then run the tests that want them.

Where they can't be had the tests are skipped, loudly; `ROUTER_TEST_LLM=required` makes that a
failure. Arguments go on to pytest.
"""

import os
import sys

import pytest

from tests.llm.local_model import CannotBeHad, fetch


def main(arguments: list[str]) -> int:
    """The exit status: pytest's, or 0 where everything is skipped, and 1 where it mustn't be."""
    try:
        fetch()
    except (CannotBeHad, OSError) as reason:
        required = os.environ.get("ROUTER_TEST_LLM") == "required"
        verdict = "FAILED, for ROUTER_TEST_LLM=required" if required else "SKIPPED"
        print(f"tests with real models: {verdict}: {reason}", file=sys.stderr)
        return int(required)
    return int(pytest.main(["-m", "llm", "tests/llm", *arguments]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
