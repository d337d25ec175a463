"""Files are read in a process that may die of them, and what asks for it never does."""

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path

import psutil
import pytest

from router.documents.file_format import Limits, UnreadableFile
from router.documents.page import Material
from router.documents.reader import PROGRAM, QUEUE_LIMITS, DocumentReader
from router.domain.errors import Unavailable
from router.extensions.document_formats import DocumentFormatsExtension
from router.isolation.fair_queue import QueueFull
from tests.document_files import EINVOICE, INVOICE, NUMBER, ofd, pdf, picture, saved
from tests.table import each_row

GOOD = pdf(INVOICE)
FORMATS = DocumentFormatsExtension().file_formats()


@pytest.fixture(scope="module")
async def reader() -> AsyncIterator[DocumentReader]:
    async with DocumentReader(FORMATS) as one:
        yield one


@each_row("content", [GOOD, ofd(), EINVOICE.encode()], ids=["pdf", "ofd", "xml"])
async def test_files_are_read_as_they_would_be_here(reader: DocumentReader, content: bytes) -> None:
    from router.documents.file_format import FileReading, read_here

    assert rounded(await reader.read(content)) == rounded(read_here(content, FileReading()))


def rounded(material: Material) -> str:
    """The material with its places to a hundredth of a page.

    pdfium measures a substituted font a little differently after the first page of a process.
    """
    return re.sub(r"\d+(?:\.\d+)?", lambda number: f"{float(number[0]):.2f}", repr(material))


async def test_the_process_stays_for_the_next_file_and_no_file_is_read_in_it(
    reader: DocumentReader,
) -> None:
    await reader.read(GOOD)
    pid = reader.pid
    assert pid is not None
    await reader.read(ofd())
    assert reader.pid == pid
    assert psutil.Process(pid).children() == []


async def test_it_tells_how_far_it_is(reader: DocumentReader) -> None:
    told: list[tuple[int, int]] = []

    async def tell(done: int, of: int) -> None:
        told.append((done, of))

    await reader.read(pdf(INVOICE, INVOICE), on_progress=tell)
    assert told == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.slow
async def test_who_hands_in_one_file_waits_for_one_of_who_handed_in_many(
    reader: DocumentReader,
) -> None:
    done: list[str] = []

    async def read(tenant: str, person: str) -> None:
        await reader.read(GOOD, tenant, person)
        done.append(person)

    many = [read("acme", "mallory") for _ in range(QUEUE_LIMITS.waiting_per_person + 1)]
    await asyncio.gather(*many, read("acme", "alice"), read("globex", "bob"))
    assert set(done[:4]) == {"mallory", "bob", "alice"}


async def test_no_more_files_of_a_person_wait_than_may(reader: DocumentReader) -> None:
    many = [reader.read(GOOD, "acme", "mallory") for _ in range(40)]
    read = await asyncio.gather(*many, return_exceptions=True)
    assert sum(isinstance(each, QueueFull) for each in read) == 39 - QUEUE_LIMITS.waiting_per_person


@pytest.mark.slow
async def test_several_files_wait_their_turn(reader: DocumentReader) -> None:
    contents = [GOOD, EINVOICE.encode(), b"", ofd(), b"%PDF-1.7"]
    read = await asyncio.gather(*map(reader.read, contents), return_exceptions=True)
    assert [getattr(one, "code", None) for one in read] == [
        None, None, "unknown_format", None, "damaged",
    ]  # fmt: skip


@pytest.mark.slow
async def test_cancelling_ends_the_process_and_the_next_file_is_read(
    reader: DocumentReader,
) -> None:
    began = asyncio.Event()
    content = saved(picture())
    asked = asyncio.create_task(reader.read(content, on_progress=lambda *_: began.set()))
    await began.wait()
    assert reader.pid is not None
    process = psutil.Process(reader.pid)
    family = [process, *process.children()]
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    psutil.wait_procs(family, timeout=60)
    assert not any(one.is_running() and one.status() != "zombie" for one in family)
    assert (await reader.read(GOOD)).text.count(NUMBER) == 1


@pytest.mark.slow
@each_row(
    ("limits", "code"),
    [
        (Limits(seconds=0.001), "time"),
        (Limits(memory=64 << 20), "memory"),
        (Limits(output=100), "bomb"),
        (Limits(bytes=100), "too_large"),
        (Limits(pixels=100), "too_large_picture"),
    ],
)
async def test_what_goes_beyond_is_refused(
    reader: DocumentReader, limits: Limits, code: str
) -> None:
    with pytest.raises(UnreadableFile) as refused:
        await reader.read(saved(picture()), limits=limits)
    assert refused.value.code == code
    await reader.read(GOOD)


@pytest.mark.slow
async def test_a_reader_that_was_killed_is_started_anew(reader: DocumentReader) -> None:
    await reader.read(GOOD)
    assert reader.pid is not None
    os.killpg(reader.pid, signal.SIGKILL)
    assert NUMBER in (await reader.read(GOOD)).text


@each_row(
    ("dies", "reads"),
    [
        ("os.kill(os.getpid(), 9)", True),
        ('print(\'{"page": 1, "of": 2}\', flush=True); os.kill(os.getpid(), 9)', True),
        ('print(\'{"ended": -9, "cpu": 0, "memory": 0}\', flush=True); sys.exit()', True),
        ('print(\'{"ended": -11, "cpu": 0, "memory": 0}\', flush=True); sys.exit()', False),
    ],
    ids=["before a page", "after a page", "its child is killed", "its child crashes"],
)
async def test_a_process_that_is_killed_while_it_reads_says_nothing_of_the_file(
    tmp_path: Path, dies: str, reads: bool
) -> None:
    """The next one reads it. A crash is the file's own doing."""
    mark = tmp_path / f"{abs(hash(dies))}"
    material = '{"material": {"pages": []}}'
    program = (
        "import os, pathlib\n"
        f"mark = pathlib.Path({str(mark)!r})\n"
        "if not mark.exists():\n"
        "    mark.touch()\n"
        f"    {dies}\n"
        f"print({material!r}, flush=True)\n"
        'print(\'{"ended": 0, "cpu": 0, "memory": 0}\', flush=True)\n'
    )
    async with DocumentReader(FORMATS, command=(sys.executable, "-c", READY + program)) as reader:
        with nullcontext() if reads else pytest.raises(UnreadableFile):
            await reader.read(GOOD)


@pytest.mark.slow
async def test_closing_it_ends_what_it_reads_and_starts_nothing_anew() -> None:
    began = asyncio.Event()
    async with DocumentReader(FORMATS) as closing:
        content = saved(picture())
        asked = asyncio.create_task(closing.read(content, on_progress=lambda *_: began.set()))
        waiting = asyncio.create_task(closing.read(GOOD))
        await began.wait()
    for one in (asked, waiting):
        with pytest.raises((UnreadableFile, Unavailable)):
            await one
    assert closing.pid is None


@pytest.mark.slow
async def test_it_goes_when_it_has_nothing_to_do() -> None:
    async with DocumentReader(FORMATS, idle=0) as idle:
        await idle.read(EINVOICE.encode())
        assert idle.pid is not None
        process = psutil.Process(idle.pid)
        await asyncio.to_thread(process.wait, 30)
        assert idle.pid is None


LOOK = """
import json, os, resource, router.documents.program as program
from glob import glob
from router.documents.page import Material, Page, Place, TextLine

def look(content, reading):
    status = open("/proc/self/status").read()
    seen = {
        "environment": sorted(os.environ),
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "files": [os.readlink(one) for one in glob("/proc/self/fd/*") if os.path.exists(one)],
        "threads": len(os.listdir("/proc/self/task")),
        "new": "NoNewPrivs:\\t1" in status,
        "written": resource.getrlimit(resource.RLIMIT_FSIZE)[0],
    }
    place = Place(left=0, top=0, right=1, bottom=1)
    return Material((Page(1, 1, (TextLine(json.dumps(seen), place),)),))

program.read_here = look
program.main()
"""


async def test_what_reads_files_has_no_secrets_no_rights_and_little_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ROUTER_LLM_API_KEY", "secret")
    async with DocumentReader(FORMATS, command=(sys.executable, "-c", LOOK)) as looking:
        seen = json.loads((await looking.read(GOOD)).text)
    assert not any(name.startswith("ROUTER_") for name in seen["environment"])
    assert (seen["core"], seen["new"], seen["written"]) == ([0, 0], True, 0)
    # Two outputs that lead nowhere, and the one that answers: no socket, nobody's database.
    kinds = sorted(name.partition(":")[0] for name in seen["files"])
    assert (kinds, seen["threads"]) == (["/dev/null", "/dev/null", "pipe"], 1)


READY = "import sys; print('{\"ready\": true}', flush=True); sys.stdin.buffer.readline();"


@pytest.mark.slow
@each_row(
    "answer",
    [
        "",
        "print('nonsense', flush=True)",
        "print('[' * 100000, flush=True)",
        'print(\'{"material": {"pages": 5}}\\n{"ended": 0}\', flush=True)',
        'print(\'{"material": {}}\\n{"material": {}}\\n{"ended": 0}\', flush=True)',
        'print(\'{"material": {}}\\n{"ended": -11}\', flush=True)',
        'print(\'{"page": 1, "of": 2}\\n\' * 5000, flush=True)',
        "print('x' * 30000000, flush=True)",
        "import os; os.kill(os.getpid(), 11)",
    ],
)
async def test_nonsense_of_a_program_is_a_file_that_cannot_be_read(answer: str) -> None:
    async with DocumentReader(FORMATS, command=(sys.executable, "-c", READY + answer)) as lying:
        with pytest.raises(UnreadableFile) as refused:
            await lying.read(GOOD)
        assert refused.value.code == "damaged"


async def test_a_program_that_does_not_start_is_told_apart_from_a_bad_file() -> None:
    async with DocumentReader(FORMATS, command=(sys.executable, "-c", "")) as dead:
        with pytest.raises(Unavailable, match="doesn't start"):
            await dead.read(GOOD)


def test_the_program_is_this_python() -> None:
    assert PROGRAM[0] == sys.executable
