"""The whole house as a user starts it, and people who use it over HTTP."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.ports import free_ports
from tests.waiting import HANGS_AFTER_S

STOPPED_WITHIN = 60.0
COMMAND = [sys.executable, "-m", "router"]


@dataclass
class House:
    """`intent-router dev` in a process group of its own."""

    data: Path
    ports: list[int] = field(default_factory=lambda: free_ports(3))
    variables: dict[str, str] = field(default_factory=dict)
    """Of the environment, beside those that there are."""
    folder: Path | None = None
    """Where it is started; None is where the tests are."""
    metrics: str = ""
    """Where its metrics are, once it is ready."""
    page: str = ""
    """The address that lets a browser in, once it is ready."""
    process: "subprocess.Popen[str] | None" = None
    program: Sequence[str] = tuple(COMMAND)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def temporal(self) -> str:
        return f"127.0.0.1:{self.ports[1]}"

    @property
    def environment(self) -> dict[str, str]:
        each = ("ROUTER_USER_REQUESTS_PER_MINUTE", "ROUTER_USER_FILES_PER_DAY")
        rates = dict.fromkeys(each, "1000000")  # programs are faster than people
        return {**os.environ, "ROUTER_TEMPORAL_ADDRESS": self.temporal, **rates}

    def start(self) -> "House":
        log = (self.data.parent / f"{self.data.name}.log").open("a")
        self.process = subprocess.Popen(
            [
                *self.program,
                "dev",
                *("--port", str(self.ports[0])),
                *("--temporal-port", str(self.ports[1])),
                *("--ui-port", str(self.ports[2])),
                *("--data", str(self.data)),
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            env={**os.environ, **self.variables},
            cwd=self.folder,
        )
        log.close()
        self._await_ready()
        return self

    def _await_ready(self) -> None:
        process = self.process
        assert process is not None
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("metrics "):
                self.metrics = line.split()[1]
            if line.startswith("chat page "):
                self.page = line.split()[2]
            if line.strip() == "ready":
                return
        raise AssertionError(f"dev ended with {process.wait()}: {self.log()[-2000:]}")

    def log(self) -> str:
        return (self.data.parent / f"{self.data.name}.log").read_text()

    def kill(self) -> None:
        """`kill -9` of the whole process group, as a power cut would."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(STOPPED_WITHIN)

    def command(self, *words: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        """Another command of `intent-router` on the same data; `said` is piped to it."""
        return subprocess.run(
            [*COMMAND, *words],
            input=said,
            capture_output=True,
            text=True,
            timeout=HANGS_AFTER_S,
            check=False,
            env={**self.environment, "ROUTER_DATA": str(self.data)},
        )


class Person:
    """Somebody of the directory with a browser, or a terminal."""

    def __init__(self, house: House, user: str) -> None:
        self.user = user
        self._digests: dict[str, str] = {}
        self.http = httpx.Client(
            base_url=house.url, headers={"Authorization": f"Bearer {user}"}, timeout=HANGS_AFTER_S
        )

    def post(self, path: str, body: dict[str, Any] | None = None, **headers: str) -> httpx.Response:
        return self.http.post(path, json=body or {}, headers=headers)

    def get(self, path: str) -> Any:
        response = self.http.get(path)
        response.raise_for_status()
        return response.json()

    def chat(self) -> "Chat":
        created = self.post("/v1/conversations")
        assert created.status_code == 201, created.text
        return Chat(self, created.json()["id"])

    def days_left(self) -> float:
        """Ask in a new conversation, in Chinese, how many days of annual leave are left."""
        said = self.chat().say("我还有几天年假？")["replies"][0]["text"]
        left = re.search(r"还剩 (\d+(?:\.\d+)?) 天", said)
        assert left, said
        return float(left[1])

    def approvals(self) -> list[dict[str, Any]]:
        found = list(self.get("/v1/approvals")["items"])
        self._digests.update({one["id"]: one["digest"] for one in found})
        return found

    def decide(self, approval: str, decision: str, **more: str) -> httpx.Response:
        """Decide on what was listed, or, where it wasn't, on something else."""
        self.approvals()
        more = {"digest": self._digests.get(approval, "unseen"), **more}
        return self.post(f"/v1/approvals/{approval}/decision", {"decision": decision, **more})

    def run(self, run: str) -> dict[str, Any]:
        return dict(self.get(f"/v1/flow-runs/{run}"))


@dataclass
class Chat:
    """One conversation of a person. Every answer is a turn."""

    person: Person
    id: str

    def send(self, body: dict[str, Any]) -> httpx.Response:
        return self.person.post(f"/v1/conversations/{self.id}/messages", body)

    def say(self, text: str, **more: str) -> dict[str, Any]:
        return self._turn(self.send({"text": text, **more}))

    def hand_in(self, file: Path) -> dict[str, Any]:
        """The file alone, without a word: it says what is wanted, so it is read first."""
        http = self.person.http
        kept = http.post("/v1/files", files={"file": (file.name, file.read_bytes())})
        assert kept.status_code == 201, kept.text
        id_ = kept.json()["id"]
        self.person.get(f"/v1/files/{id_}/document?wait=50")
        return self._turn(self.send({"files": [id_]}))

    def act(self, type_: str, value: Any, **more: str) -> dict[str, Any]:
        """Press a button; a yes or no is to what is asked."""
        key = "values" if type_ == "form" else "value"
        action = {"type": type_, key: value}
        if type_ == "confirm":
            asked = self.person.get(f"/v1/conversations/{self.id}")["pending_confirmation"]
            action["question"] = asked["question"] if asked else ""
        return self._turn(self.send({"action": action, **more}))

    def act_start(self, flow: str, slots: dict[str, Any]) -> dict[str, Any]:
        """Start a flow, or a tool's form, by name."""
        return self._turn(self.send({"action": {"type": "start", "flow": flow, "slots": slots}}))

    def _turn(self, response: httpx.Response) -> dict[str, Any]:
        assert response.status_code == 200, response.text
        return dict(response.json())

    def transcript(self) -> list[dict[str, Any]]:
        return list(self.person.get(f"/v1/conversations/{self.id}/messages?limit=200")["items"])

    def heard(self, text: str, within: float = HANGS_AFTER_S, after: int = 0) -> dict[str, Any]:
        """The first line of the assistant's with this in it, behind the one with the id `after`.

        It waits for news to arrive.
        """
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            for line in self.transcript():
                ours = line["role"] == "assistant" and int(line["id"]) > after
                if ours and text in line["text"]:
                    return line
            time.sleep(0.05)
        raise AssertionError(f"never heard {text!r} in {self.transcript()}")
