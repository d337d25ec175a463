"""The figures of a flow as words and breadths of lines on its picture."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from router.domain.locale import Locale, Localised
from router.drawing.flowchart import BROADEST, Edge, Journey, said
from router.extensions.statistics.flow_statistics import FEW, FlowStatistics, StateFigures
from router.flow.view import STATUSES

ENTERED = Localised(zh="{} 次", en="{}×")
TOOK = Localised(
    zh="{} 次，一半在 {} 小时内，九成在 {} 小时内", en="{}×, half within {} h, 9 in 10 within {} h"
)
STAND = Localised(zh="现有 {} 个", en="{} stand here")
SENT_BACK = Localised(zh="退回或驳回 {} 次", en="sent back or rejected {}×")
GIVEN_UP = Localised(zh="止于此：{}", en="ended here: {}")
SILENT = Localised(zh="没有回音", en="silent")


@dataclass(frozen=True)
class FlowLoad(Journey):
    """What many runs went through: words for each state, for each way how often it was taken."""

    words: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def notes(self, name: str, locale: Locale) -> list[str]:  # noqa: ARG002 - in the reader's
        """The words of the state, which are in the reader's language already."""
        return [*self.words.get(name, ())]

    def often(self, edge: Edge) -> str:
        """How often it was taken, and how many in a hundred of what left its source that were."""
        times = self.taken.get(edge.key, 0)
        left = sum(n for (source, _, _), n in self.taken.items() if source == edge.source)
        return f"{times} ({100 * times / left:.0f}%)" if times and left >= FEW else str(times)

    def breadth(self, edge: Edge) -> int:
        """Broader the more often it was taken, beside what was taken most often."""
        most = max(self.taken.values(), default=0)
        return ceil(BROADEST * self.taken.get(edge.key, 0) / most) if most else 0


def load_of(found: FlowStatistics, locale: Locale) -> FlowLoad:
    """The figures of a flow as its picture tells them."""
    taken = {(way.source, way.event, way.target): way.taken for way in found.ways}
    words = {figures.state: [*_state_words(figures, locale)] for figures in found.states}
    return FlowLoad(taken=taken, words=words)


def _state_words(figures: StateFigures, locale: Locale) -> Iterator[str]:
    if figures.median_hours is None or figures.p90_hours is None:
        yield said(ENTERED, locale, figures.entered)
    else:
        half, most = f"{figures.median_hours:g}", f"{figures.p90_hours:g}"
        yield said(TOOK, locale, figures.entered, half, most)
    if figures.here:
        yield said(STAND, locale, figures.here)
    if figures.returned:
        yield said(SENT_BACK, locale, figures.returned)
    ended = {
        STATUSES["cancelled"]: figures.cancelled,
        STATUSES["expired"]: figures.expired,
        STATUSES["failed"]: figures.failed,
        SILENT: figures.silent,
    }
    told = [f"{words.within(locale)} {number}" for words, number in ended.items() if number]
    if told:
        yield said(GIVEN_UP, locale, ("、" if locale == "zh" else ", ").join(told))
