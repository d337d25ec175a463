"""What reading a message by rules costs, and how often it is right.

    python bench/understanding.py

* microseconds a message, p50 and p95, at 10, 1,000 and 10,000 patterns with a quarter as many
  `unless`: our `PatternIndex` (guards and groups included) beside google-re2's `Set` and a loop
  over `re`, on messages that match, that don't, and that were made to hurt;
* the whole of `Reader.read` at 1,000 flows, and how long it takes to be built;
* precision and recall of pre-match and exact entities, by language, on what rules and weights were
  made with and on what nothing was fitted to.

Peers get less time than they want where they are slow: fewer messages, and for a hostile text one
look. `-` is a `Set` that RE2 refuses to compile in a quarter of a gigabyte.
"""

import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import re2

import company.lookups
from router.domain.messages import Message
from router.entities.extraction import entities_of
from router.entities.normalisation import Normalised, normalise
from router.entities.utterance import Utterance
from router.flow.definition import FlowDefinition
from router.flow.loader import load_flows
from router.flow.paused import Situation
from router.tool.registry import Registry
from router.understanding.reader import Reader
from router.understanding.triggers.patterns import PatternIndex, options

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests" / "unit"
ROLES = frozenset({"employee"})
SIZES = (10, 1_000, 10_000)
PER_FLOW = 10
LONGEST = 8_000
SECONDS = 2.0
"""That one cell of the table may take."""
SET_MEMORY = 256 * 1024**2
LABELLED = {"date", "date_range", "duration", "money"}
NOW = datetime.fromisoformat("2026-11-18T10:00+08:00")

ZH_AREAS = (
    "会议 培训 体检 班车 午餐 停车 门禁 印章 合同 证明 名片 工牌 宿舍 图书 设备 软件 账号"
    " 邮箱 网络 电话 快递 礼品 制服 绿植 仓库"
)
ZH_THINGS = (
    "室 车位 申请单 登记表 补贴 名额 权限 钥匙 许可 记录 预算 采购 维修 更换 升级 借用 归还"
    " 续期 报名 退订 发票 押金 通行证 资料 档案 指标 额度券 班次 座位 柜子 耗材 清单 方案"
    " 验收 盘点 迁移 备份 恢复 审计 交接"
)
EN_AREAS = (
    "meeting training checkup shuttle lunch parking entrance stamp contract letter card badge dorm"
    " library device software account mailbox network phone parcel gift uniform plant"
    " warehouse"
)
EN_THINGS = (
    "room space form register subsidy place permission key permit record budget purchase repair"
    " replacement upgrade loan return renewal signup refund invoice deposit pass paper archive"
    " quota voucher slot seat locker supplies list plan inspection stocktake migration backup"
    " recovery audit handover"
)
PAIRS = list(
    zip(
        product(ZH_AREAS.split(), ZH_THINGS.split()),
        product(EN_AREAS.split(), EN_THINGS.split()),
        strict=True,
    )
)


def synthetic(count: int) -> list[FlowDefinition]:
    """A flow for every ten patterns, in both languages."""
    return [_flow(number, count) for number in range(-(-count // PER_FLOW))]


def _flow(number: int, count: int) -> FlowDefinition:
    (zh, en), title = _names(number), {"zh": "流程", "en": "flow"}
    patterns = [
        f"(?:我要|我想|帮我|麻烦)(?:申请|办理|预定).{{0,6}}{zh}",
        f"(?:申请|办理|预定)(?:一下|一个|一张)?{zh}",
        f"^{zh}(?:申请|办理)",
        f"{zh}(?:要|得)(?:办|换|修)",
        f"(?:需要|想要|缺)(?:一个|一张)?(?P<kind>新|旧|临时)的?{zh}",
        rf"\b(?:apply|ask|sign up) for (?:an? |the |my )?{en}\b",
        rf"\b(?:need|want|would like) (?:an? |the |my )?(?:new )?{en}\b",
        rf"^{en} (?:request|please)",
        rf"\bbook (?:an? |the )?{en} (?:for|on) (?P<day>[a-z]+)",
        rf"\b(?:renew|replace|return) (?:the |my ){en}\b",
    ]
    unless = [f"怎么.{{0,4}}{zh}", rf"\bhow .{{0,12}}{en}\b", f"(?:取消|退掉).{{0,4}}{zh}"]
    triggers = {"patterns": patterns[:count], "unless": unless[: 2 + number % 2]}
    return FlowDefinition.model_validate(
        {
            "flow": f"flow_{number}",
            "title": title,
            "description": title,
            "triggers": triggers,
            "start": "done",
            "states": {"done": {"end": "completed"}},
        }
    )


def _names(number: int) -> tuple[str, str]:
    zh, en = PAIRS[number * 37 % len(PAIRS)]
    return "".join(zh), " ".join(en)


def seen(count: int) -> list[str]:
    chance = random.Random(count)
    flows = [_names(chance.randrange(-(-count // PER_FLOW))) for _ in range(100)]
    zh = (f"你好，我想申请一下{name}，谢谢" for name, _ in flows)
    return [*zh, *(f"Hi, I would like to apply for a {name} today" for _, name in flows)]


def unseen() -> list[str]:
    """Sentences about other things, and those of the tests."""
    rows = [row["text"] for row in labelled("prematch")]
    return random.Random(1).sample(rows, 200)


def hostile(count: int) -> dict[str, str]:
    names = [_names(n) for n in range(-(-count // PER_FLOW))]
    zh, en = [name for name, _ in names], [name for _, name in names]
    chance = random.Random(2)
    texts = {
        "beginnings": ("我想申请一下" * LONGEST),
        "begun, en": ("i would like to apply for a " * LONGEST),
        "near misses": "，".join(f"我想申请{name[:-1]}" for name in chance.choices(zh, k=2000)),
        "all literals": " ".join(chance.choices([*zh, *en], k=2000)),
        "no literal": "x7" * LONGEST,
    }
    return {name: text[:LONGEST] for name, text in texts.items()}


Finder = Callable[[Normalised], set[str]]


def finders(flows: Sequence[FlowDefinition]) -> dict[str, Finder | None]:
    """Each gives the patterns that a text matches."""
    sources = [source for flow in flows for source in flow.triggers.patterns]
    guards = [source for flow in flows for source in flow.triggers.unless]
    return {
        "ours": _ours(flows),
        "re2.Set": _in_one_set([*sources, *guards], len(sources)),
        "re loop": _looped([*sources, *guards], len(sources)),
    }


def _ours(flows: Sequence[FlowDefinition]) -> Finder:
    index = PatternIndex(flows)
    return lambda text: {match.hit.pattern for match in index.find(text, ROLES)}


def _in_one_set(sources: Sequence[str], patterns: int) -> Finder | None:
    given = options()
    given.max_mem = SET_MEMORY
    held = re2.Set.SearchSet(given)
    for source in sources:
        held.Add(source)
    try:
        held.Compile()
    except re2.error:
        return None
    return lambda text: {sources[n] for n in held.Match(text.text) or () if n < patterns}


def _looped(sources: Sequence[str], patterns: int) -> Finder:
    every = [re.compile(source, re.IGNORECASE) for source in sources]

    def found(text: Normalised) -> set[str]:
        held = [n for n, expression in enumerate(every) if expression.search(text.text)]
        return {sources[n] for n in held if n < patterns}

    return found


def timed(find: Callable[[Any], object], texts: Iterable[Any]) -> list[float]:
    """Microseconds of each text, as many as there is time for, the first at least."""
    took: list[float] = []
    for text in texts:
        began = time.perf_counter()
        find(text)
        took.append(1e6 * (time.perf_counter() - began))
        if sum(took) > 1e6 * SECONDS:
            break
    return took


def quantiles(took: Sequence[float]) -> str:
    return f"{np.median(took):>10,.0f}{np.quantile(took, 0.95):>10,.0f}"


def patterns_table() -> bool:
    """Print it; False where the three don't find the same."""
    print("\nmicroseconds a message, p50 and p95; hostile texts have 8,000 characters")
    print(f"{'patterns':>8}  {'messages':14}{'ours':>20}{'re2.Set':>20}{'re loop':>20}")
    alike = True
    for count in SIZES:
        ways = finders(synthetic(count))
        bad = hostile(count)
        rows = {"seen": seen(count), "unseen": unseen(), **{k: [v] * 5 for k, v in bad.items()}}
        for name, texts in rows.items():
            plain = [normalise(text) for text in texts]
            cells = [quantiles(timed(w, plain)) if w else f"{'-':>20}" for w in ways.values()]
            print(f"{count:>8,}  {name:14}{''.join(cells)}")
        alike &= agree(ways, [*seen(count)[::20], *unseen()[::20], *bad.values()])
    return alike


def agree(ways: dict[str, Finder | None], texts: Sequence[str]) -> bool:
    """Whether all find what the loop finds, said aloud; seconds allow the loop a sample."""
    wrong = Counter[str]()
    began = time.perf_counter()
    done = 0
    for text in texts:
        plain = normalise(text)
        truth = {name: way(plain) for name, way in ways.items() if way}
        done += 1
        wrong.update(name for name, found in truth.items() if found != truth["re loop"])
        if time.perf_counter() - began > 4 * SECONDS:
            break
    said = ", ".join(f"{name} differs on {n}" for name, n in wrong.items()) or "all find the same"
    print(f"{'':10}{said}, {done} messages")
    return not wrong["ours"]


def reading_table() -> None:
    flows = synthetic(PER_FLOW * 1_000)
    for count in (100, 1_000):
        began = time.perf_counter()
        Reader(flows[:count])
        print(
            f"\n{PER_FLOW * count:,} patterns: built in {time.perf_counter() - began:.2f} s", end=""
        )
    Registry().discover(company.lookups)
    reader = Reader([*flows, *load_flows(ROOT / "flows")])
    situation = Situation(now=NOW, locale="zh", roles=ROLES)
    print("\nReader.read at 1,000 flows, microseconds, p50 and p95")
    texts = {
        "seen": seen(PER_FLOW * 1_000),
        "unseen": unseen(),
        "entities": [row["text"] for row in labelled("entities")],
        **{name: [text] * 3 for name, text in hostile(PER_FLOW * 1_000).items()},
    }
    for name, every in texts.items():
        for text in every[:20]:
            reader.read(Message(text=text), situation)
        took = timed(lambda text: reader.read(Message(text=text), situation), every)
        print(f"{'':10}{name:14}{quantiles(took)}")


def labelled(kind: str) -> list[dict]:
    files = sorted(TESTS.glob(f"*/data/{kind}_*.jsonl"))
    return [row for file in files for row in rows_of(file)]


def rows_of(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def language(text: str) -> str:
    return "zh" if re.search("[\u4e00-\u9fff]", text) else "en"


def accuracy_tables() -> None:
    """On sentences that rules and weights were made with, and on such as nothing was fitted to."""
    learned = [row for row in rows_of(ROOT / "bench" / "requests.jsonl") if "label" in row]
    prematch_table("learned from", learned)
    prematch_table("unseen", rows_of(TESTS / "understanding" / "data" / "prematch_unseen.jsonl"))
    for file in sorted((TESTS / "entities" / "data").glob("entities_*.jsonl")):
        entities_table(file.stem, rows_of(file))


def prematch_table(name: str, rows: Iterable[dict]) -> None:
    """Of what was started, what was right; of what should start, what did."""
    index = PatternIndex(load_flows(ROOT / "flows"))
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        hits = [match.hit for match in index.find(normalise(row["text"]), ROLES)]
        got = {hit.flow for hit in hits if hit.blocked_by is None}
        right = {row["label"]} - {"none"}
        counts = tally[language(row["text"])]
        counts.update(messages=1, started=len(got), wanted=len(right), right=len(got & right))
    print(f"\n{name:20}{'messages':>9}{'precision':>11}{'recall':>9}")
    for spoken, n in sorted(tally.items(), reverse=True):
        precision, recall = 100 * n["right"] / n["started"], 100 * n["right"] / n["wanted"]
        print(f"{spoken:20}{n['messages']:>9}{precision:>10.1f}%{recall:>8.1f}%")


def entities_table(name: str, rows: Iterable[dict]) -> None:
    """How many texts were read exactly."""
    tally: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        said = Utterance.of(row["text"], datetime.fromisoformat(row["now"]))
        found = entities_of(said.normalised, said.things)
        named = [{"type": e.type, "value": e.value} for e in found if e.type in LABELLED]
        tally[language(row["text"])].update(read=1, exact=named == row["entities"])
    print(f"\n{name:20}{'texts':>9}{'exact':>9}")
    for spoken, n in sorted(tally.items(), reverse=True):
        print(f"{spoken:20}{n['read']:>9}{100 * n['exact'] / n['read']:>8.1f}%")


def main() -> int:
    alike = patterns_table()
    reading_table()
    accuracy_tables()
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
