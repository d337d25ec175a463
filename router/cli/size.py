"""`intent-router size`: what so many employees take, by what turns and requests were measured to.

Nothing is asked of any server. Change a figure of `MEASURED` where it was measured anew; the table
in docs/operations.md is what this prints, which a test holds.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Annotated, Literal, NamedTuple

import typer

from router.cli.options import echo_aligned
from router.domain.locale import Locale, Localised
from router.settings import Settings

RequestKind = Literal["small talk", "status", "model", "request"]


class Taken(NamedTuple):
    """What one turn of a kind takes, or one request from its start to its approval."""

    cpu: float
    """Milliseconds of processor time, of API and worker together."""
    actions: float
    """As Temporal Cloud bills them."""
    visibility: float
    """Writes."""
    events: float
    kib: float
    """Of history."""


@dataclass(frozen=True)
class Measured:
    """The figures that everything is computed from, as docs/benchmarks.md has them."""

    kinds: dict[RequestKind, Taken]
    api_share: float
    """Of the processor time, what the APIs take."""
    process_mib: float
    open_kib: float
    """What an open conversation or run of one turn takes in a worker's memory."""
    turn_kib: float
    """What each further turn adds to it."""
    turns_held: float
    """The last so many turns add to it: then it continues as new."""
    rows: float
    """That a turn leaves in the router's database."""
    row_kib: float
    """Of those rows together, with their indexes."""
    temporal_cpu: float
    """Milliseconds of a turn, of Temporal's server with its own database."""


MEASURED = Measured(
    # CPU: `bench stages`, 2026-11-26. The rest: `bench actions`, 2026-11-26.
    kinds={
        "small talk": Taken(cpu=18.8, actions=4.0, visibility=0.0, events=13.0, kib=8.0),
        "status": Taken(cpu=31.2, actions=6.0, visibility=0.7, events=21.7, kib=12.6),
        "model": Taken(cpu=35.6, actions=6.7, visibility=0.5, events=27.2, kib=25.0),
        # Two answers to a flow, and a decision that is taken for a third.
        "request": Taken(cpu=3 * 31.45, actions=37.0, visibility=11.0, events=99.0, kib=92.0),
    },
    # `bench machines`, 2026-11-26: the largest of its four.
    api_share=0.31,
    rows=3.6,
    row_kib=4.5,
    # `bench load`: the process just started and what 10,000 of one turn take, 2026-11-23 (115 KiB
    # each on 2026-11-26); Temporal's column, 2026-11-26. `bench cold`: what each turn adds.
    process_mib=280,
    open_kib=120,
    turn_kib=15,
    turns_held=20,
    temporal_cpu=17.0,
)

CACHED: int = Settings.model_fields["cached_workflows"].default
"""`ROUTER_CACHED_WORKFLOWS` where nobody has set it: what one worker keeps in memory."""
BUSY = 0.7
"""Of a core, what is planned with."""
EVENTS_PER_SHARD = 20.0
"""A second, assumed: a shard writes one workflow after the other."""
FEWEST_SHARDS = 512
DAYS = {"month": 21, "year": 250}
"""Working days."""


@dataclass(frozen=True)
class Habits:
    """How much one employee uses it; each can be said otherwise on the command line."""

    turns: float = 2.0
    """A working day, besides those of requests."""
    requests: float = 1.0
    """A month, each filled in and approved."""
    peak: float = 0.2
    """Of a day's turns, those of its busiest hour."""
    model: float = 0.3
    """Of the turns, those that a model decides; of others two are small talk for each status."""
    length: float = 4.0
    """Turns of a conversation."""


class SizeRow(NamedTuple):
    """One row of the table: what it is called, how it comes about, and its value."""

    name: Localised
    how: Localised
    value: Callable[["Sizes"], float]
    digits: int = 0


class Sizes:
    """What a number of employees takes."""

    def __init__(self, employees: int, assumed: Habits, measured: Measured) -> None:
        self.employees, self.assumed, self.measured = employees, assumed, measured
        others = 1 - assumed.model
        self.shares: dict[RequestKind, float] = {
            "small talk": others * 2 / 3,
            "status": others / 3,
            "model": assumed.model,
        }

    def a_day(self, of: Callable[[Taken], float]) -> float:
        """All that the turns and requests of a working day take together."""
        turns = sum(share * of(self.measured.kinds[kind]) for kind, share in self.shares.items())
        requests = self.assumed.requests / DAYS["month"] * of(self.measured.kinds["request"])
        return self.employees * (self.assumed.turns * turns + requests)

    def at_peak(self, a_day: float) -> float:
        """Of what a day takes, what a second of its busiest hour does."""
        return a_day * self.assumed.peak / 3600

    @property
    def turns(self) -> float:
        """Of a day, requests included: two to fill in, one to decide."""
        return self.employees * (self.assumed.turns + 3 * self.assumed.requests / DAYS["month"])

    @property
    def cores(self) -> float:
        """That API and worker use at the peak."""
        return self.at_peak(self.a_day(lambda taken: taken.cpu)) / 1000

    @property
    def open(self) -> float:
        """Conversations of a day, and requests that were begun in one."""
        a_day = self.assumed.turns / self.assumed.length
        return self.employees * (a_day + self.assumed.requests / DAYS["month"])

    @property
    def cached(self) -> float:
        """Of those, how many all workers together keep in memory."""
        return min(self.open, self.workers * CACHED)

    @property
    def memory(self) -> float:
        """GiB of all processes, each cached one taken for a conversation as long as any."""
        further = min(self.assumed.length, self.measured.turns_held) - 1
        each_kib = self.measured.open_kib + further * self.measured.turn_kib
        started_mib = (self.apis + self.workers) * self.measured.process_mib
        return (started_mib + self.cached * each_kib / 1024) / 1024

    @property
    def workers(self) -> int:
        """One more than are needed, so that any may be away."""
        return ceil(self.cores * (1 - self.measured.api_share) / BUSY) + 1

    @property
    def apis(self) -> int:
        """The same of APIs."""
        return ceil(self.cores * self.measured.api_share / BUSY) + 1

    @property
    def shards(self) -> int:
        """A power of two, for as many as it is begun with it keeps."""
        events = self.at_peak(self.a_day(lambda taken: taken.events))
        wanted = max(FEWEST_SHARDS, events / EVENTS_PER_SHARD)
        return int(2 ** ceil(log2(wanted)))


def _said(zh: str, en: str) -> Localised:
    return Localised(zh=zh, en=en)


LINES: Sequence[SizeRow] = (
    SizeRow(
        _said("高峰每秒轮数", "turns a second, at peak"),
        _said(
            "员工 ×（每日轮数 + 3 × 每月申请 / 21）× 高峰占比 / 3600",
            "employees × (turns a day + 3 × requests a month / 21) × peak share / 3600",
        ),
        lambda s: s.at_peak(s.turns),
        1,
    ),
    SizeRow(
        _said("API 与 worker 的核数，高峰", "cores of API and worker, at peak"),
        _said(
            "每轮 CPU 毫秒 × 高峰每秒轮数 / 1000", "CPU ms of each kind × its turns a second / 1000"
        ),
        lambda s: s.cores,
        1,
    ),
    SizeRow(
        _said("API 进程", "API processes"),
        _said("核数 × API 占比 / 0.7，再加 1", "cores × the APIs' share / 0.7, and one more"),
        lambda s: s.apis,
    ),
    SizeRow(
        _said("worker 进程", "worker processes"),
        _said("其余核数 / 0.7，再加 1", "the other cores / 0.7, and one more"),
        lambda s: s.workers,
    ),
    SizeRow(
        _said("打开的会话与申请", "open conversations and requests"),
        _said(
            "员工 ×（每日轮数 / 会话轮数 + 每月申请 / 21）",
            "employees × (turns a day / turns of a conversation + requests a month / 21)",
        ),
        lambda s: s.open,
    ),
    SizeRow(
        _said("其中不在内存里的", "of them replayed at their next word"),
        _said(
            f"打开的 − worker 进程数 × ROUTER_CACHED_WORKFLOWS（{CACHED}）；下一句话来时重放历史",
            f"open − worker processes × ROUTER_CACHED_WORKFLOWS ({CACHED}): in no worker's memory",
        ),
        lambda s: s.open - s.cached,
    ),
    SizeRow(
        _said("全部进程的内存，GiB", "memory of all processes, GiB"),
        _said(
            "进程数 × 启动时的内存 + 在内存里的 ×（首轮所占 + 其余各轮 × 每轮所占）",
            "processes × what one has at its start + those in memory × (what one of one turn "
            "takes + further turns × what each adds)",
        ),
        lambda s: s.memory,
        1,
    ),
    SizeRow(
        _said("PostgreSQL 每年行数，百万", "PostgreSQL rows a year, millions"),
        _said("轮数 × 250 天 × 每轮行数", "turns × 250 days × rows of a turn"),
        lambda s: s.turns * DAYS["year"] * s.measured.rows / 1e6,
        1,
    ),
    SizeRow(
        _said("PostgreSQL 每年 GiB，含索引", "PostgreSQL a year, GiB with indexes"),
        _said("轮数 × 250 天 × 每轮 KiB", "turns × 250 days × KiB of a turn"),
        lambda s: s.turns * DAYS["year"] * s.measured.row_kib / 2**20,
    ),
    SizeRow(
        _said("Temporal 的核数，高峰", "cores of Temporal, at peak"),
        _said(
            "每轮毫秒 × 高峰每秒轮数 / 1000 / 0.7；它的数据库另算一份",
            "its ms of a turn × turns a second / 1000 / 0.7; its database as much again",
        ),
        lambda s: s.at_peak(s.turns) * s.measured.temporal_cpu / 1000 / BUSY,
        1,
    ),
    SizeRow(
        _said("Temporal 每秒 action，高峰", "Temporal actions a second, at peak"),
        _said("各类轮与申请的 action × 其数量", "actions of each kind × how many there are"),
        lambda s: s.at_peak(s.a_day(lambda taken: taken.actions)),
        1,
    ),
    SizeRow(
        _said("每秒可见性写入，高峰", "visibility writes a second, at peak"),
        _said("同上", "the same"),
        lambda s: s.at_peak(s.a_day(lambda taken: taken.visibility)),
        1,
    ),
    SizeRow(
        _said("每秒历史事件，高峰", "history events a second, at peak"),
        _said("同上", "the same"),
        lambda s: s.at_peak(s.a_day(lambda taken: taken.events)),
        1,
    ),
    SizeRow(
        _said("历史分片", "history shards"),
        _said(
            "每秒事件 / 20（假设），向上取 2 的幂，至少 512",
            "events a second / 20 (assumed), the next power of two, 512 at least",
        ),
        lambda s: s.shards,
    ),
    SizeRow(
        _said("保留 30 天的历史，GiB", "history of 30 days, GiB"),
        _said("每日 KiB × 21", "KiB a day × 21"),
        lambda s: s.a_day(lambda taken: taken.kib) * DAYS["month"] / 2**20,
        1,
    ),
    SizeRow(
        _said("Temporal Cloud 每月 action，百万", "Temporal Cloud actions a month, millions"),
        _said("每日 action × 21", "actions a day × 21"),
        lambda s: s.a_day(lambda taken: taken.actions) * DAYS["month"] / 1e6,
        1,
    ),
)

HEADING = _said("员工", "employees")
GIVEN = _said(
    "假设：每人每个工作日 {turns:g} 轮，每月 {requests:g} 份申请；最忙的一小时占一天的 {peak:.0%}；"
    "{model:.0%} 的轮由模型决定，其余两轮闲谈配一轮查进度；一个会话 {length:g} 轮。",
    "assumed: {turns:g} turns a working day and {requests:g} requests a month of each; the busiest "
    "hour has {peak:.0%} of a day; a model decides {model:.0%} of the turns, of the others two are "
    "small talk for each status question; a conversation has {length:g} turns",
)


def table(
    employees: Sequence[int], assumed: Habits, locale: Locale, measured: Measured = MEASURED
) -> list[tuple[str, ...]]:
    """The rows: what it is, a value for each number of employees, and how it comes about."""
    sizes = [Sizes(number, assumed, measured) for number in employees]
    rows = [(HEADING.within(locale), *(f"{number:,}" for number in employees), "")]
    for line in LINES:
        values = (f"{line.value(size):,.{line.digits}f}" for size in sizes)
        rows.append((line.name.within(locale), *values, line.how.within(locale)))
    return rows


def size(
    employees: Annotated[
        list[int], typer.Option(min=1, max=10_000_000, help="How many; more than once to compare.")
    ],
    turns: Annotated[
        float, typer.Option(min=0, max=1000, help="A working day, of each.")
    ] = Habits.turns,
    requests: Annotated[
        float, typer.Option(min=0, max=1000, help="A month, of each, filled in and approved.")
    ] = Habits.requests,
    peak: Annotated[
        float, typer.Option(min=0, max=1, help="The busiest hour's share of a day.")
    ] = Habits.peak,
    model: Annotated[
        float, typer.Option(min=0, max=1, help="Share of the turns that a model decides.")
    ] = Habits.model,
    length: Annotated[
        float, typer.Option(min=1, max=1000, help="Turns of a conversation.")
    ] = Habits.length,
    locale: Annotated[Literal["zh", "en"], typer.Option(help="The language.")] = "en",
) -> None:
    """Compute the processes, memory, rows and Temporal actions that so many employees take."""
    assumed = Habits(turns, requests, peak, model, length)
    typer.echo(GIVEN.within(locale).format(**vars(assumed)))
    echo_aligned(table(employees, assumed, locale))
