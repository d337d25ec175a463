"""Documents: which fields are read exactly, by kind and by damage, and what a page costs.

The set is made anew (`document_set.py`, a fixed seed), read by the formats of `document_formats`
(PDF, OFD, XML; pictures by character recognition and QR codes) and then by its types. Beside that,
over the same text: whether the true value stands in it literally, in any usual spelling (`in text`:
what no reading of text alone can beat), and one regular expression a field (`pattern`), as one
writes it first: the amount after 合计 or Total, the first date, the number behind 号码 or No.
`sure` are fields with a confidence of 0.8 and more, which a claim takes without asking.

    python bench/documents.py [--half development|held-out] [--wrong] [--kept FOLDER]

Rules and confidences were tuned on the development half alone. `--wrong` names what isn't exact,
`--kept` is a folder for what was read, so that types can be tried without reading again.
"""

import argparse
import json
import multiprocessing
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from document_files import DAMAGES, file_of, missing_fonts
from document_set import Example, examples
from document_sheets import TODAY

from router.documents.document_type import recognised
from router.documents.file_format import FileReading, UnreadableFile, format_of, load_formats
from router.documents.page import Material
from router.documents.values import folded
from router.domain.documents import Document
from router.extensions.document_formats import DocumentFormatsExtension

load_formats(DocumentFormatsExtension().file_formats())


@dataclass(frozen=True)
class Taken:
    """What was read of one file, and what that took."""

    material: Material
    milliseconds: float = 0.0
    megabytes: float = 0.0


def take(content: bytes) -> tuple[bytes, float, float]:
    """Read a file, in a process of its own: what stands there, milliseconds, peak megabytes."""
    _reset_peak()
    began = time.perf_counter()
    try:
        material = format_of(content).read(content, FileReading())
    except UnreadableFile as error:
        print(f"unreadable: {error.code}", file=sys.stderr)
        material = Material()
    return material.as_json(), (time.perf_counter() - began) * 1000, _peak()


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> float:
    said = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(said[1]) / 1024 if said else 0.0


def taken(chosen: list[Example], kept: Path | None) -> Iterator[tuple[Example, Taken]]:
    """Every example with what was read of it."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for example in chosen:
            at = kept / f"{example.name}.json" if kept else None
            if at is not None and at.exists():
                yield example, Taken(Material.of_json(at.read_bytes()))
                continue
            raw, milliseconds, megabytes = pool.apply(take, (file_of(example).content,))
            if at is not None:
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(raw)
            yield example, Taken(Material.of_json(raw), milliseconds, megabytes)


# What is compared


def bare(value: object) -> object:
    """A value without what doesn't count: spaces within a name."""
    return folded(value).replace(" ", "") if isinstance(value, str) else value


def spellings(name: str, value: object) -> set[str]:
    """How a value may stand in a text, without spaces."""
    if isinstance(value, dict):
        amount = str(value["amount"])
        return {amount, f"{float(amount):,.2f}", amount.removesuffix("0")}
    said = str(value)
    if name == "date":
        day = date.fromisoformat(said)
        forms = (
            "%Y年%m月%d日",
            "%Y-%m-%d",
            "%Y/%m/%d",
            "%d%b%Y",
            "%d-%b-%Y",
            "%b%d,%Y",
            "%d%B%Y",
            "%Y%m%d",
        )
        written = {day.strftime(form) for form in forms}
        return written | {
            re.sub(r"(?<![\d])0(\d)(?=[A-Z,])|(?<=[a-z])0(\d)(?=,)", r"\1\2", one)
            for one in written
        }
    if name == "days":
        han = "零一二三四五六七八九十"
        small = int(said)
        word = han[small] if small <= 10 else "十" + han[small - 10]
        return {f"{said}天", f"{said}day", f"{word}天"}
    if name == "number" and len(said) == 20 and said.startswith("0"):
        return {said, said[12:]}
    return {said.replace(" ", "")}


_MONEY = r"[¥￥$€£]?\s*(-?\d[\d,]*\.\d{1,2})"
PATTERNS = {
    "amount": (
        (
            r"(?:小写[)）]?|实付\S*|价税合计|合计|总计|票价|金额|(?i:total(?: \w+)?|fare))"
            rf"\D{{0,12}}?{_MONEY}"
        ),
        _MONEY,
    ),
    "tax": (rf"(?i:税额|tax|vat)\D{{0,12}}?{_MONEY}",),
    "date": (
        r"(20\d\d)\s*[-年/.]\s*(\d{1,2})\s*[-月/.]\s*(\d{1,2})",
        r"(?P<d>\d{1,2})[- ](?P<b>[A-Z][a-z]{2})[a-z]*[- ,]+(?P<y>20\d\d)",
        r"(?P<b>[A-Z][a-z]{2})[a-z]* (?P<d>\d{1,2}), ?(?P<y>20\d\d)",
    ),
    "number": (
        (
            r"(?:发票号码|票号|号码|(?i:invoice (?:no|number|#)|ticket no))[:：.]?\s*"
            r"([A-Z0-9/-]{6,24})"
        ),
    ),
    "seller": (r"(?:销售方名称|名称|(?i:seller))[:：]\s*(\S+)",),
    "buyer": (r"(?:购买方名称|名称|(?i:bill to|invoice to|customer))[:：]?\s*(.+)",),
    "item": (r"(\*[^*\n]+\*\S+)",),
    "from": (r"(\S+站)", r"(?m)^From:?\s*(.+)$"),
    "to": (r"\S+站[\s\S]*?(\S+站)", r"(?m)^To:?\s*(.+)$"),
    "passenger": (r"\d{4}\*+\d{4}\s*(\S+)", r"Passenger:?\s*(.+)"),
    "days": (r"(\d+)\s*(?:天|days?)",),
    "name": (r"(?:姓名|患者)[:：]?\s*([^\s，]+)", r"(?:name:|certify that (?:Mr|Ms))\s*(.+)"),
}
"""What one writes first, by field; the first that finds something counts."""


def by_pattern(name: str, text: str, currency: str) -> object:
    """The value that a plain regular expression finds."""
    for pattern in PATTERNS[name]:
        found = re.search(pattern, text)
        if found is None:
            continue
        if name in {"amount", "tax"}:
            return {"amount": f"{float(found[1].replace(',', '')):.2f}", "currency": currency}
        return _day(found) if name == "date" else found[1].strip()
    return None


def _day(found: re.Match[str]) -> str | None:
    try:
        if "b" in found.re.groupindex:
            said = f"{found['d']} {found['b']} {found['y']}"
            return time.strftime("%Y-%m-%d", time.strptime(said, "%d %b %Y"))
        return date(*map(int, found.groups())).isoformat()
    except ValueError:
        return None


@dataclass
class Tally:
    """Sums of one row."""

    documents: int = 0
    typed: int = 0
    fields: int = 0
    exact: int = 0
    sure: int = 0
    sure_right: int = 0
    in_text: int = 0
    pattern: int = 0
    milliseconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)

    def add(self, example: Example, read: Document, given: Taken) -> list[str]:
        """Count an example; says what of it isn't exact."""
        truth, wrong = example.sheet.truth, []
        self.documents += 1
        self.typed += read.type == example.sheet.kind
        if given.milliseconds:
            self.milliseconds.append(given.milliseconds)
            self.megabytes.append(given.megabytes)
        text = given.material.text
        squeezed = folded_text(text) + json.dumps(given.material.data, ensure_ascii=False)
        money = next((v for v in truth.values() if isinstance(v, dict)), {"currency": "CNY"})
        for name, value in truth.items():
            found = read.fields.get(name) if read.type == example.sheet.kind else None
            right = found is not None and bare(found.value) == bare(value)
            self.fields += 1
            self.exact += right
            if found is not None and found.is_sure:
                self.sure += 1
                self.sure_right += right
            self.in_text += any(one in squeezed for one in spellings(name, value))
            self.pattern += bare(by_pattern(name, text, str(money["currency"]))) == bare(value)
            if not right:
                said = (found.value, found.confidence) if found else read.type
                which = f"{example.name} {example.sheet.layout} {example.damage} {name}"
                wrong.append(f"{which}: {value} read as {said}")
        return wrong

    def row(self, title: str) -> str:
        """The line of the table."""
        of = max(self.fields, 1)
        shares = (self.exact, self.in_text, self.pattern, self.sure)
        told = "".join(f"{100 * share / of:>9.1f}" for share in shares)
        right = f"{100 * self.sure_right / self.sure:>9.1f}" if self.sure else f"{'-':>9}"
        typed = f"{100 * self.typed / max(self.documents, 1):>7.1f}"
        cost = (
            ""
            if not self.milliseconds
            else (f"{statistics.median(self.milliseconds):>8.0f}{max(self.megabytes):>7.0f}")
        )
        return f"{title:22}{self.documents:>5}{typed}{self.fields:>7}{told}{right}{cost}"


def folded_text(text: str) -> str:
    """A text without spaces, in compatibility forms."""
    return "".join(folded(line).replace(" ", "") for line in text.splitlines())


HEAD = (
    f"{'':22}{'docs':>5}{'type':>7}{'fields':>7}{'exact':>9}{'in text':>9}{'pattern':>9}{'sure':>9}"
    f"{'right':>9}{'ms':>8}{'MB':>7}"
)


def table(chosen: list[Example], kept: Path | None, *, show_wrong: bool) -> None:
    """Print what came of these examples."""
    tables: list[dict[str, Tally]] = [defaultdict(Tally) for _ in range(4)]
    kinds, damages, alls, unseen = tables
    for example, given in taken(chosen, kept):
        read = recognised(given.material, TODAY)
        kind = f"{example.sheet.kind}, {example.sheet.locale}"
        damage = f"picture, {example.damage}" if example.damage else example.format
        rows = (
            [unseen[example.sheet.layout], unseen["unseen: all"]]
            if example.unseen
            else [kinds[kind], damages[damage], alls["all"]]
        )
        for tally in rows:
            wrong = tally.add(example, read, given)
        if show_wrong:
            print(*wrong, sep="\n", end="\n" if wrong else "")
    if "unseen: all" in unseen:
        unseen["unseen: all"] = unseen.pop("unseen: all")
    print(HEAD)
    for one in tables:
        for title, tally in one.items():
            print(tally.row(title))
        print()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--half", choices=("development", "held-out"), help="both without it")
    parser.add_argument("--wrong", action="store_true", help="name what isn't exact")
    parser.add_argument("--kept", type=Path, help="a folder for what was read")
    given = parser.parse_args()
    if missing := missing_fonts():
        print(f"not installed, so drawn in others: {', '.join(missing)}", file=sys.stderr)
    every = list(examples(tuple(DAMAGES)))
    halves = {"development": False, "held-out": True}
    print(
        "Documents, in percent of their fields: exact; the true value stands in the text; found\n"
        "by a plain pattern; read for sure, and how many of those are right. One page each.\n"
        "ms are medians, MB the most that the process held, with its models."
    )
    for half, held_out in halves.items():
        if given.half not in {None, half}:
            continue
        print(f"\n{half}")
        table([e for e in every if e.held_out == held_out], given.kept, show_wrong=given.wrong)


if __name__ == "__main__":
    main()
