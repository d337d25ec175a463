import os

# Read as numpy is imported. The threads of several processes wait for each other's by spinning,
# and fitting a few dozen vectors then takes ten times the processor: commands do the same.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gc
import re
import resource
import ssl
import sys
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import httpcore2
import pytest
from fastapi import routing
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from temporalio.client import Client

from router.flow.language.functions import Lookup, declare
from tests.servers import SOCKET, SharedServers
from tests.shards import Shard
from tests.temporal import shared_client
from workflows import flow, flow_client

# Programs that tests start keep their bytecode, as they do for everybody else: some four hundred
# modules compiled anew would be half of a start. So does each process of the suite: eight hundred
# modules of tests compiled anew, with their assertions told apart, are half of collecting.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Two busy cores, and tables of Unicode that a fresh clone builds at its first draw: how long a
# draw takes says nothing here. Whoever promises a time measures it in a test of its own.
# Examples are the same in every run, so that no test is red by chance. Other ones are drawn by
# `--hypothesis-profile=explore`, and by `make fuzz`.
settings.register_profile(
    "explore", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("house", settings.get_profile("explore"), derandomize=True)
settings.load_profile("house")
# Hypothesis reads the constants of every module that is imported, to draw them more often: five
# seconds of each process, before the first test.
vars(providers)["_get_local_constants"] = lambda: providers._local_constants


# Every HTTP client reads the machine's certificates anew, 30 ms of CPU, to call loopback.
vars(ssl)["create_default_context"] = cache(ssl.create_default_context)


@cache
def _context(trust_env: bool, *_of: str | None) -> ssl.SSLContext:
    return _made_context(_trust_env=trust_env)


def _default_context(_trust_env: bool = True) -> ssl.SSLContext:
    """The one that there is by now; another where the environment names other certificates."""
    return _context(_trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


# Those of models have a way of their own to them.
_made_context = httpcore2.default_ssl_context
vars(httpcore2)["default_ssl_context"] = _default_context

# An application looks at the hundred routes that all of them share as its first request comes,
# 140 ms of CPU, and hundreds of tests have one of their own. Nobody overrides dependencies, which
# is all that it asks of the application itself.
_looked_at = routing._EffectiveRouteContext.from_api_route


def _looked_at_once(*, original_route: Any, include_context: Any) -> Any:
    """The same for each application that has the route in the same way."""
    alike = replace(include_context, dependency_overrides_provider=None)
    known = vars(original_route).setdefault("looked_at", [])
    for way, effective in known:
        if way == alike:
            return effective
    made = _looked_at(original_route=original_route, include_context=include_context)
    known.append((alike, made))
    return made


setattr(routing._EffectiveRouteContext, "from_api_route", _looked_at_once)  # noqa: B010

# A turn says after three seconds that its run is still at work, and a machine that stalls for as
# long has one say so that nobody asked for it: who is on trial here isn't the machine.
USUAL_PATIENCE = flow.PATIENCE
vars(flow)["PATIENCE"] = vars(flow_client)["PATIENCE"] = timedelta(seconds=60)


@pytest.fixture(scope="session")
def as_patient_as_usual() -> Callable[[pytest.MonkeyPatch], None]:
    """Has turns end after as long as everywhere, where their runs are still at work."""

    def patch(given: pytest.MonkeyPatch) -> None:
        for each in (flow, flow_client):
            given.setattr(each, "PATIENCE", USUAL_PATIENCE)

    return patch


@pytest.fixture
def usual_patience(
    monkeypatch: pytest.MonkeyPatch, as_patient_as_usual: Callable[[pytest.MonkeyPatch], None]
) -> None:
    """For turns that end while their run is still at work."""
    as_patient_as_usual(monkeypatch)


# What flow files ask of the sample company, or of any: who evaluates one answers it.
for _lookup in (
    Lookup(
        name="workdays",
        takes=("start", "end", "start_half", "end_half"),
        answers="a number",
        defaults=("", ""),
    ),
    Lookup(name="last_workday", takes=("start", "duration"), answers="a day"),
    Lookup(name="claimed", takes=("invoice",), answers="whether it is"),
    Lookup(name="is_company", takes=("name",), answers="whether it is"),
):
    declare(_lookup)

SERVERS = pytest.StashKey[SharedServers]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take `--shard 2/4`, which leaves out other shards' modules, and `--shuffle SEED`."""
    parser.addoption("--shard", type=Shard.parse, help="run the modules of one shard, as 2/4")
    parser.addoption(
        "--shuffle", metavar="SEED", help="run modules, and their tests, in this order"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out modules whose tests are deselected anyway, before they are imported."""
    if not (collection_path.name.startswith("test_") and collection_path.suffix == ".py"):
        return None
    shard: Shard | None = config.getoption("shard")
    if shard and not shard.has(collection_path):
        return True
    if "not slow" in config.getoption("markexpr") and _is_slow_module(collection_path):
        return True
    return None


def _is_slow_module(path: Path) -> bool:
    mark = r"^pytestmark = (?:\[\s*)?pytest\.mark\.slow\b"
    return re.search(mark, path.read_text(encoding="utf-8"), re.MULTILINE) is not None


def pytest_configure(config: pytest.Config) -> None:
    """Own the servers of the run, unless this is one of its worker processes."""
    if SOCKET not in os.environ:
        config.stash[SERVERS] = SharedServers()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the servers that this process owns, and print what the run took of the processor."""
    if servers := config.stash.get(SERVERS, None):
        tests = _processor_seconds()
        servers.stop()
        if not config.option.collectonly:
            both = _processor_seconds()
            collecting = config.stash.get(COLLECTION_SECONDS, 0)
            print(
                f"processor time: {both:.0f} s, {both - tests:.0f} s of it in shared servers; "
                f"collecting took each process {collecting:.1f} s"
            )


def _processor_seconds() -> float:
    """Return the processor time of this process and of those that it has started and awaited."""
    usages = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


@pytest.fixture(scope="session")
async def temporal_client() -> Client:
    """A client of a real Temporal server, in a namespace that only this process uses."""
    return await shared_client()


LONGEST_ID = 60


def pytest_make_parametrize_id(val: object) -> str | None:
    """Of a long text its beginning and length; None leaves the id to pytest.

    Ids travel between processes several times a test, and hostile inputs have up to a million
    characters: whole, the ids of this suite were 22 MB.
    """
    if not isinstance(val, str | bytes) or len(val) <= LONGEST_ID:
        return None
    return f"{val[: LONGEST_ID // 2]!a}...{len(val)}"


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without garbage collection, and measure the processor time.

    The tests and all that they import stay until the end: looking through them for garbage, again
    and again, was half of collecting, and then a second out of whichever test was running.
    """
    began = time.process_time()
    gc.disable()
    try:
        return (yield)
    finally:
        _note_collection(session.config, time.process_time() - began)
        gc.freeze()
        # A full collection looks through what the tests have left: up to a second, a hundred
        # times, within whatever test measures just then.
        gc.set_threshold(10_000, 20, 50)
        gc.enable()


COLLECTION_SECONDS = pytest.StashKey[float]()


def _note_collection(config: pytest.Config, seconds: float) -> None:
    """Keep what collecting took, in a worker process for the controller to hear."""
    if (output := getattr(config, "workeroutput", None)) is not None:
        output["collection_seconds"] = seconds
    else:
        config.stash[COLLECTION_SECONDS] = max(seconds, config.stash.get(COLLECTION_SECONDS, 0))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what collecting took in a worker process that ends; the slowest counts."""
    _note_collection(node.config, getattr(node, "workeroutput", {}).get("collection_seconds", 0))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """What a module makes once is made once in all: tests that share it go to one process.

    So do a module's quick tests: whoever gives out fifteen thousand of them one by one counts, for
    each, all that were given out. It is marked before xdist's own hook reads the marks.
    """
    if seed := config.getoption("shuffle"):
        _shuffle(items, Random(seed))
    for item in items:
        if _is_second_database(item):
            item.add_marker(pytest.mark.slow)
        if _moves_the_clock(item):
            item.add_marker(pytest.mark.xdist_group("time-skipping"))
        together = item.path.is_relative_to(UNITS) or _shares_with_its_module(item)
        if together and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(f"{item.path.parent.name}/{item.path.stem}"))
    yield


UNITS = Path(__file__).with_name("unit")


def _shuffle(items: list[pytest.Item], random: Random) -> None:
    """Change the order of the modules, and that of the tests within each."""
    modules: dict[Path, list[pytest.Item]] = {}
    for item in items:
        modules.setdefault(item.path, []).append(item)
    order = list(modules.values())
    random.shuffle(order)
    for module in order:
        random.shuffle(module)
    items[:] = [item for module in order for item in module]


def _is_second_database(item: pytest.Item) -> bool:
    """Return whether `make test` leaves this test to SQLite.

    A PostgreSQL database for each test costs a sixth of a second, so that only modules marked
    `both_databases` run on it at every landing.
    """
    call = getattr(item, "callspec", None)
    on_postgresql = call is not None and call.params.get("database_url") == "postgresql"
    return on_postgresql and item.get_closest_marker("both_databases") is None


def _moves_the_clock(item: pytest.Item) -> bool:
    """Return whether a workflow test uses the time-skipping server, its `environment`."""
    uses_it = "environment" in getattr(item, "fixturenames", ())
    return uses_it and item.path.parent.name == "workflow"


def _shares_with_its_module(item: pytest.Item) -> bool:
    if not isinstance(item, pytest.Function):
        return False
    used = item._fixtureinfo.name2fixturedefs.values()
    return any(fixture.scope == "module" for fixtures in used for fixture in fixtures[-1:])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tests of one group share a server or a browser: spread out, each process starts its own."""
    if "PYTEST_XDIST_WORKER" not in os.environ or not session.config.getoption(
        "loadgroup", default=False
    ):
        return
    grouped = [item.nodeid for item in session.items if item.get_closest_marker("xdist_group")]
    if any("@" not in nodeid.rpartition("]")[2] for nodeid in grouped):
        raise pytest.UsageError(f"pytest {pytest.__version__} ignores xdist_group: install <9.2")
