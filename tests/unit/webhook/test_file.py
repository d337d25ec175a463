"""The files of webhooks: what they come to, and every fault at its line."""

import base64
import json
from pathlib import Path

import pytest

from router.domain.errors import DefinitionError, MisconfiguredError
from router.domain.webhook_events import EVENTS
from router.outbound.guard import OutboundGuard
from router.webhook.webhook_files import load_event_sources, load_webhooks
from tests.table import each_row

SECRET = "whsec_" + base64.b64encode(b"s" * 32).decode()
VARIABLES = {"ERP_SECRET": SECRET, "BAD_SECRET": "whsec_no", "EMPTY": ""}
GUARD = OutboundGuard(["http://127.0.0.1:9000"])
FINE = """\
- url: https://erp.example.com/hooks?token=1
  secret_env: ERP_SECRET
  events: [flow.completed, approval.decided]
  tenants: [acme, "b*"]
  flows: [purchase_*]
  slots: true
- {url: "http://127.0.0.1:9000", secret_env: ERP_SECRET, events: ["*"]}
"""


def written(folder: Path, text: str, name: str = "webhooks.yaml") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def test_a_file_says_who_is_told_of_what(tmp_path: Path) -> None:
    erp, local = load_webhooks(written(tmp_path, FINE), VARIABLES, GUARD)
    assert (str(erp.origin), erp.target) == ("https://erp.example.com", "/hooks?token=1")
    assert erp.subscription.events == {"flow.completed", "approval.decided"}
    assert (erp.subscription.tenants, erp.subscription.flows) == (("acme", "b*"), ("purchase_*",))
    assert erp.subscription.slots
    assert erp.subscription.shown_url == "https://erp.example.com/hooks"
    assert (local.target, local.subscription.events) == ("/", frozenset(EVENTS))
    assert (local.subscription.tenants, local.subscription.slots) == (None, False)


def test_it_may_be_json(tmp_path: Path) -> None:
    entry = {"url": "https://a.example", "secret_env": "ERP_SECRET", "events": ["flow.failed"]}
    path = written(tmp_path, json.dumps([entry], indent="\t"), "webhooks.json")
    assert len(load_webhooks(path, VARIABLES, GUARD)) == 1


ENTRY = "url: https://a.example, secret_env: ERP_SECRET, events: [flow.failed]"


@each_row(
    ("text", "line", "why"),
    [
        ("", 1, "it is no list"),
        ("hooks: 1", 1, "it is no list"),
        ("[1]", 1, "there is no usable 0"),
        ("- {}", 1, "there is no url"),
        (f"- {{{ENTRY}, event: 1}}", 1, "there is no key event"),
        (f"- {{{ENTRY}}}\n- {{{ENTRY}}}", 2, "that of line 1 already"),
        (f"- {{{ENTRY}, slots: 1}}", 1, "slots"),
        (f"- {{{ENTRY}, tenants: []}}", 1, "tenants"),
        (f"- {{{ENTRY}, flows: [1]}}", 1, "flows"),
        (f"- {{{ENTRY.replace('https', 'http')}}}", 1, "isn't https"),
        (f"- {{{ENTRY.replace('https://a.example', 'ftp://a')}}}", 1, "isn't http:// or https"),
        (f"- {{{ENTRY.replace('a.example', 'u:p@a.example')}}}", 1, "name or password"),
        (f"- {{{ENTRY.replace('a.example', '10.0.0.1')}}}", 1, "isn't public"),
        (f"- {{{ENTRY.replace('a.example', '169.254.169.254')}}}", 1, "where no tool may go"),
        (f"- {{{ENTRY.replace('flow.failed', 'flow.done')}}}", 1, "no event flow.done"),
        (f"- {{{ENTRY.replace('[flow.failed]', '[]')}}}", 1, "events"),
        (f"- {{{ENTRY.replace('ERP_SECRET', 'NOT_SET')}}}", 1, "NOT_SET isn't set"),
        (f"- {{{ENTRY.replace('ERP_SECRET', 'EMPTY')}}}", 1, "EMPTY isn't set"),
        (f"- {{{ENTRY.replace('ERP_SECRET', 'BAD_SECRET')}}}", 1, "BAD_SECRET"),
        (f"- {{{ENTRY.replace('ERP_SECRET', SECRET)}}}", 1, "secret_env"),
        ("- [a: {", 1, ""),
        ("- &a [*a]", 1, ""),
    ],
)
def test_every_fault_is_told_at_its_line(tmp_path: Path, text: str, line: int, why: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(DefinitionError) as refused:
        load_webhooks(path, VARIABLES, GUARD)
    problem = refused.value.problems[0]
    assert (problem.file, problem.line) == (str(path), line)
    assert why in str(problem)
    assert SECRET not in str(problem)


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    text = (
        f"- {{{ENTRY.replace('flow.failed', 'x')}}}\n- {{{ENTRY.replace('ERP_', 'NO_')}, a: 1}}\n"
    )
    with pytest.raises(DefinitionError) as refused:
        load_webhooks(written(tmp_path, text), VARIABLES, GUARD)
    assert [problem.line for problem in refused.value.problems] == [1, 2, 2]


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MisconfiguredError, match="isn't there"):
        load_webhooks(tmp_path / "none.yaml", VARIABLES, GUARD)


def test_a_source_has_the_roles_that_its_file_gives(tmp_path: Path) -> None:
    text = "- {name: erp, secret_env: ERP_SECRET, roles: [warehouse], flows: [purchase_*]}"
    [erp] = load_event_sources(written(tmp_path, text), VARIABLES)
    assert erp.principal.id == "source:erp"
    assert erp.principal.roles == {"warehouse"}
    assert (erp.may_tell("purchase_order"), erp.may_tell("leave_request")) == (True, False)


SOURCE = "name: erp, secret_env: ERP_SECRET, roles: [warehouse]"


@each_row(
    ("text", "why"),
    [
        (f"- {{{SOURCE.replace('[warehouse]', '[]')}}}", "roles"),
        (f"- {{{SOURCE.replace('warehouse', 'employee')}}}", "nobody outside has the role"),
        (f"- {{{SOURCE.replace('erp', 'ERP x')}}}", "name"),
        (f"- {{{SOURCE}}}\n- {{{SOURCE}}}", "that of line 1 already"),
        (f"- {{{SOURCE}, url: x}}", "no key url"),
        (
            f"- {{{SOURCE}}}\n- {{{SOURCE.replace('name: erp', 'name: wms')}}}",
            "secret_env is that of",
        ),
        (f"- {{{SOURCE.replace('ERP_', 'NO_')}}}", "NO_SECRET isn't set"),
    ],
)
def test_a_source_that_can_not_be_used_is_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(DefinitionError, match=why) as refused:
        load_event_sources(written(tmp_path, text), VARIABLES)
    assert SECRET not in str(refused.value)
