"""How requests of one's own stand, a line each, and which of them is meant: by id or in words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from decimal import Decimal, InvalidOperation
from functools import cached_property

from pydantic import JsonValue

from activities.provided import RequestKinds
from router.domain.errors import (
    ArgumentOffer,
    ArgumentsToolError,
    OfferedValue,
    PermanentToolError,
    SeveralFit,
)
from router.domain.locale import Locale, Localised
from router.domain.messages import ASKING, ENDED, FlowStatus
from router.domain.records import RunRecord
from router.domain.text_tables import written
from router.entities.dates import Days
from router.entities.grammar import only
from router.entities.utterance import Utterance
from router.flow.prompts.field_names import VALUES
from router.flow.prompts.values import named
from router.flow.slot_types.dates import MONTHS, day, moment, short_date
from router.flow.slot_types.numbers import money
from router.store.flow_runs import Runs
from router.tool.context import ToolContext
from router.understanding.names import FlowNames, names_no_kind

MOST_SAID = 5
_MOST_DAYS = 31
_LONGEST_WORD = 20
_AND: dict[Locale, str] = {"zh": "，", "en": ", "}
_TO: dict[Locale, str] = {"zh": " 至 ", "en": " to "}

ShownSlots = Mapping[str, JsonValue]
Purses = dict[str, Decimal]


@dataclass(frozen=True)
class RequestStanding:
    """How one request stands: what it is about, and who decides next, or since when it is so."""

    title: str
    status: FlowStatus
    slots: ShownSlots
    waits_for: Sequence[str]
    since: str
    files: Sequence[str] = ()

    def sentence(self, locale: Locale) -> str:
        """It in a line, such as `请假申请（11月23日 至 11月25日）：审批中，在等 王芳`."""
        about = _about([self._when(locale), sums(self.slots, locale)], self.title, locale)
        stands, people = named("status", self.status, locale), self._people(locale)
        at = moment(self.since, locale)
        if locale == "zh":
            said = f"{about}：{stands}" + (f"，在等 {people} 审批" if people else f"（{at}）")
            return said + (f"；附件：{'、'.join(self.files)}" if self.files else "")
        said = f"{about}: {stands}" + (f", with {people}" if people else f" ({at})")
        return said + (f"; files: {', '.join(self.files)}" if self.files else "")

    def row(self, locale: Locale) -> list[str]:
        """It under `COLUMNS`."""
        when = self._when(locale, short_date)
        about = _AND[locale].join(filter(None, [when, sums(self.slots, locale)]))
        stands = named("status", self.status, locale).replace("_", " ")
        return [self.title, about, stands, self._people(locale) or short_date(self.since, locale)]

    def _when(self, locale: Locale, shown: Callable[[JsonValue, Locale], str] = day) -> str:
        ends = (self.slots.get(name) for name in ("start", "end"))
        return _TO[locale].join(dict.fromkeys(shown(end, locale) for end in ends if _is_day(end)))

    def _people(self, locale: Locale) -> str:
        return ("、" if locale == "zh" else ", ").join(self.waits_for)


COLUMNS: dict[Locale, tuple[str, ...]] = {
    "zh": ("申请", "内容", "状态", "在等谁或何时"),
    "en": ("Request", "About", "Status", "With whom, or when"),
}


def _about(parts: Iterable[str], title: str, locale: Locale) -> str:
    what = _AND[locale].join(filter(None, parts))
    if not what:
        return title
    return f"{title}（{what}）" if locale == "zh" else f"{title} ({what})"


def sums(slots: ShownSlots, locale: Locale) -> str:
    """What the slots come to in money, totals counted once; or how many things they ask for."""
    purses = _purses(slots)
    if purses:
        each = purses.items()
        return " + ".join(money({"amount": str(a), "currency": c}, locale) for c, a in each)
    counts = (item.get("quantity") for item in _items(slots))
    count = sum(int(c) for c in counts if isinstance(c, int | float))
    if not count:
        return ""
    return f"{count} 件" if locale == "zh" else f"{count} item{'s' if count > 1 else ''}"


def days_of(slots: ShownSlots) -> list[tuple[date, date]]:
    """The stretches of days that the slots are about, both ends included: of `items` too."""
    start, end = slots.get("start"), slots.get("end")
    found = []
    if _is_day(start):
        first = _date(start)
        found.append((first, _date(end) if _is_day(end) else first))
    single = [value for name, value in slots.items() if name not in ("start", "end")]
    single += [value for item in _items(slots) for value in item.values()]
    return found + [(_date(value), _date(value)) for value in single if _is_day(value)]


def offer_of(run: RunRecord, zone: tzinfo | None) -> OfferedValue:
    """The run as one to choose: by title, kind, days and amount, and status, on its button."""
    made = run.created_at.astimezone(zone).date()
    label = Localised(zh=_label(run, made, "zh"), en=_label(run, made, "en"))
    # What was said in a word or two, as it is and as people read it: `上海`, `年假`.
    short = [t for t in _texts(run.slots) if 1 < len(t[1]) <= _LONGEST_WORD and not _is_day(t[1])]
    words = [word for name, value in short for word in (value, named(name, value, "zh"))]
    for first, last in days_of(run.slots)[:1]:
        several = min((last - first).days + 1, _MOST_DAYS)
        words += [(first + timedelta(days=n)).isoformat() for n in range(several)]
    synonyms = dict.fromkeys((run.title.zh, run.title.en, *words))
    return OfferedValue(value=run.id, label=label, synonyms=tuple(synonyms))


def _label(run: RunRecord, made: date, locale: Locale) -> str:
    kinds = [named(n, v, locale) for n, v in _texts(run.slots) if n in VALUES]
    spans = [
        _TO[locale].join(dict.fromkeys(_short(d, made.year, locale) for d in span))
        for span in days_of({n: run.slots.get(n) for n in ("start", "end")})
    ]
    asked = _short(made, made.year, locale)
    asked = f"{asked}提交" if locale == "zh" else f"asked on {asked}"
    parts = [*kinds, *(spans or [asked]), sums(run.slots, locale)]
    about = _about(parts, run.title.within(locale), locale)
    status = named("status", run.status, locale).replace("_", " ")
    return f"{about}：{status}" if locale == "zh" else f"{about}: {status}"


def _short(day_: date, year: int, locale: Locale) -> str:
    if locale == "zh":
        return f"{day_.year}年" * (day_.year != year) + f"{day_.month}月{day_.day}日"
    return f"{day_.day} {MONTHS[day_.month - 1]}" + f" {day_.year}" * (day_.year != year)


def _texts(slots: ShownSlots) -> list[tuple[str, str]]:
    return [(name, value) for name, value in slots.items() if isinstance(value, str)]


def _items(slots: ShownSlots) -> list[dict[str, JsonValue]]:
    listed = (value for value in slots.values() if isinstance(value, list))
    return [item for value in listed for item in value if isinstance(item, dict)]


def _purses(slots: ShownSlots) -> Purses:
    parts: Purses = {}
    _add_up([value for value in slots.values() if isinstance(value, list)], parts)
    purses = dict(parts)
    for value in slots.values():
        own: Purses = {}
        if not isinstance(value, list):
            _add_up(value, own)
        if not own.items() <= parts.items():
            for name, amount in own.items():
                purses[name] = purses.get(name, Decimal()) + amount
    return purses


def _add_up(value: JsonValue, purses: Purses) -> None:
    if isinstance(value, list):
        for inner in value:
            _add_up(inner, purses)
    elif isinstance(value, dict) and isinstance(value.get("currency"), str):
        try:
            amount = Decimal(str(value.get("amount")))
        except InvalidOperation:
            return
        name = str(value["currency"])
        purses[name] = purses.get(name, Decimal()) + amount
    elif isinstance(value, dict):
        for inner in value.values():
            _add_up(inner, purses)


def _is_day(value: JsonValue) -> bool:
    try:
        return isinstance(value, str) and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _date(value: JsonValue) -> date:
    return date.fromisoformat(str(value))


def in_short(found: Iterable[RequestStanding], locale: Locale) -> str:
    """One in a sentence; of several the first few as a table, and how many there are beside."""
    every = list(found)
    left = len(every) - MOST_SAID
    if not every:
        return "没有这样的申请。" if locale == "zh" else "There is no such request."
    if len(every) == 1:
        return every[0].sentence(locale)
    head = f"你最近的 {min(len(every), MOST_SAID)} 个申请：" if locale == "zh" else "Your requests:"
    table = written(COLUMNS[locale], (one.row(locale) for one in every[:MOST_SAID]))
    more = f"还有 {left} 个更早的。" if locale == "zh" else f"There are {left} older ones."
    return "\n\n".join([head, table, *([more] if left > 0 else [])])


ANY = "request"
"""What a request is called where nothing is said of which."""
WORDS = frozenset({"withdraw_request", "nudge_approver"})
"""The forms that only say something about another request, and are none themselves."""
MOST_LOOKED_AT = 50
"""The newest runs; what is older is named by its id."""
_SHOWN = 8

WHICH = Localised(zh="是哪一个申请？", en="Which request is it?")
NONE_OF_THESE = Localised(
    zh="没有找到说的那个申请。是下面的哪一个？", en="I found no such request. Is it one of these?"
)
NONE_AT_ALL = Localised(
    zh="你现在没有这样的申请。", en="There is no request of yours that this could be done to."
)


@dataclass(frozen=True)
class RunMention:
    """What was said of a request, at `now` where the caller is; `kinds` are the flows."""

    text: str
    now: datetime
    kinds: RequestKinds

    def fits(self, run: RunRecord) -> bool:
        """True where the run is of the kind that is named, if any, and of the days, if any."""
        if not any(sign.isalnum() for sign in self.text) or not self.is_kind(run):
            return False
        made = run.created_at.astimezone(self.now.tzinfo).date()
        its_own = [*days_of(run.slots), (made, made)]
        return not self._days or any(
            a <= last and first <= b for a, b in self._days for first, last in its_own
        )

    def is_kind(self, run: RunRecord) -> bool:
        """True where the kind is named, or nothing is said but that it is a request."""
        names = self.kinds.names_of(run.flow) or FlowNames(run.flow, run.title)
        return names.in_text(self._rest) or names_no_kind(self._rest)

    @cached_property
    def _utterance(self) -> Utterance:
        return Utterance.of(self.text, self.now)

    @cached_property
    def _days(self) -> list[tuple[date, date]]:
        said = self._utterance
        found = [f.value for f in only(Days, [*said.things, *said.spent, *said.meant])]
        return [(days.first, days.last) for days in found]

    @cached_property
    def _rest(self) -> str:
        text = self._utterance.text
        for found in sorted(only(Days, self._utterance.things), key=lambda f: -f.start):
            text = f"{text[: found.start]} {text[found.end :]}"
        return text or " "


async def run_meant(
    name: str,
    ctx: ToolContext,
    runs: Runs,
    kinds: RequestKinds,
    *,
    submitted: bool = False,
    completed: bool = False,
) -> RunRecord:
    """The caller's run with this id, or the only one under way of which this is said.

    Never the run that asks, nor by name a word to another request or a look-up, nor where
    `submitted` one whose own questions aren't answered yet. With `completed`, where none under way
    fits, one that is over and can be taken back. Raises `SeveralFit` where several are meant, or
    none of those that there are; `ArgumentsToolError` or `PermanentToolError` where there are none.
    """
    caller = ctx.caller
    kinds = kinds.of(caller.tenant, caller.id)
    known = await runs.find(caller.tenant, name.strip())
    if known is not None and known.requester == caller.id and known.workflow_id != ctx.flow_run:
        return known
    found, _ = await runs.listed(
        caller.tenant, caller.id, None, None, None, MOST_LOOKED_AT, kinds.look_ups() | WORDS
    )
    passed_over = {*ENDED, *(ASKING if submitted else ())}
    under_way = [
        run
        for run in found
        if run.workflow_id != ctx.flow_run and run.status not in passed_over and not run.is_branch
    ]
    said = RunMention(name, ctx.now, kinds)
    if completed:
        under_way = [run for run in under_way if run.withdraws is None]
    fitting = [run for run in under_way if said.fits(run)]
    if not fitting and completed:
        done = [run for run in found if can_be_taken_back(run)]
        fitting = [run for run in done if said.fits(run)]
        under_way += done
    if len(fitting) == 1:
        return fitting[0]
    raise _unclear(said, fitting, under_way, ctx)


def can_be_taken_back(run: RunRecord) -> bool:
    """True for a completed run that its flow knows how to take back."""
    return run.status == "completed" and run.remedy is not None


def _unclear(
    said: RunMention, fitting: Sequence[RunRecord], others: Sequence[RunRecord], ctx: ToolContext
) -> ArgumentsToolError | PermanentToolError:
    given = said.text[:60]
    if not fitting and not others:
        if said.text == ANY:
            return PermanentToolError(NONE_AT_ALL)
        zh = f"request：没有叫“{given}”的正在办理的申请，也没有别的"
        en = f"request: no request under way is called {given!r}, nor is there any other"
        return ArgumentsToolError(Localised(zh=zh, en=en))
    shown = (fitting or [run for run in others if said.is_kind(run)] or others)[:_SHOWN]
    zone = ctx.now.tzinfo
    listed = [
        f"{run.id} ({run.title.within(ctx.locale)}, {run.created_at.astimezone(zone):%m-%d})"
        for run in shown
    ]
    if fitting:
        zh = f"request：“{given}”可能是 {'、'.join(listed)}，请用编号说明是哪一个"
        en = f"request: {given!r} may be {', '.join(listed)}; say which, by its id"
    else:
        zh = f"request：正在办理的申请里没有叫“{given}”的，现有：{'、'.join(listed)}"
        en = f"request: no request under way is called {given!r}; there are: {', '.join(listed)}"
    offers = tuple(offer_of(run, zone) for run in shown)
    offer = ArgumentOffer(
        argument="request", ask=WHICH if fitting else NONE_OF_THESE, offers=offers
    )
    return SeveralFit(Localised(zh=zh, en=en), offer)
