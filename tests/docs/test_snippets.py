"""What the pages show is so: files load, commands exist, requests are well formed."""

from pathlib import Path

import pytest

from tests.docs.checks import CHECKS
from tests.docs.shell import slips
from tests.docs.snippets import PLAYED, Snippet, all_snippets

SNIPPETS = all_snippets()


@pytest.mark.parametrize("snippet", SNIPPETS, ids=str)
def test_a_snippet_is_what_it_claims_or_says_why_it_is_not_run(
    snippet: Snippet, tmp_path: Path
) -> None:
    if snippet.why_not:
        assert len(snippet.why_not.split()) > 3, f"{snippet}: say why, in words"
    elif snippet.marker != PLAYED:
        CHECKS[snippet.language](snippet, tmp_path)


@pytest.mark.parametrize(
    ("script", "slip"),
    [
        ("intent-router flows validat x.yaml", "there is no command flows validat x.yaml"),
        (".venv/bin/intent-router route", "Missing argument 'text'"),
        ("intent-router route 请假 --jsn", "No such option: --jsn"),
        ("echo 1 | intent-router chta", "there is no command chta"),
        ("make devel", "there is no target devel"),
        ("ROUTER_FLOW=x make dev", "there is no setting ROUTER_FLOW"),
        ("export ROUTER_LLM_MODLE=x", "there is no setting ROUTER_LLM_MODLE"),
        ("python3 -m no_such_module", "there is no module no_such_module"),
        ("rm -rf /", "nobody checks rm"),
    ],
)
def test_a_slip_in_a_command_is_seen(script: str, slip: str) -> None:
    (seen,) = slips(script)
    assert slip in seen
