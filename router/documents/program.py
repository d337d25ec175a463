"""The process that files are read in, apart from whatever hands them over.

It loads what reads them once, and never looks at a file itself: each is read by a child that is
forked for it, bounded in memory, CPU seconds and open files, without privileges to gain and, where
the machine lets it, without a network; whatever becomes of the child, nothing of one person's file
is left for the next one's. `router.documents.reader` starts it and speaks to it:

* in, a line of JSON `{"size": bytes, "limits": {…}}` and then so many bytes, the file;
* out, a line of JSON each: first `{"ready": true}`; then of every file `{"page": 1, "of": 3}` as
  often as it likes, `{"material": {…}}` or `{"unreadable": code}` once, and `{"ended": status,
  "cpu": seconds, "memory": bytes}` last: 0 or what ended the child, and what it took at most.

It ends with its input, so with whoever started it.
"""

import json
import os
import resource
import sys

from router.documents.file_format import (
    FORMATS,
    FileReading,
    Limits,
    UnreadableFile,
    load_formats,
    read_here,
)
from router.isolation.limits import MAX_OPEN_FILES, die_with_parent, seclude_process

_NEAR = 0.85


def main() -> None:
    """Read files until nobody is there any more."""
    channel, given = _channel(), sys.stdin.buffer
    seclude_process()
    load_formats(sys.argv[1:])
    for one in set(FORMATS.values()):
        if one.is_available:
            one.load()
    _say(channel, {"ready": True})
    while line := given.readline():
        asked = json.loads(line)
        content = given.read(asked["size"])
        if len(content) < asked["size"]:
            return
        limits = Limits.model_validate(asked["limits"])
        _say(channel, _in_a_child(content, limits, channel))


def _channel() -> int:
    """The output, as a number that no library writes to: what they print goes nowhere."""
    channel = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    os.set_inheritable(channel, False)
    return channel


def _in_a_child(content: bytes, limits: Limits, channel: int) -> dict[str, object]:
    child = os.fork()
    if child == 0:
        # Nothing that a child of a fork does may reach the loop above.
        try:
            _bound(limits)
            _read(content, limits, channel)
        finally:
            os._exit(0)
    _, status, took = os.wait4(child, 0)
    return {
        "ended": os.waitstatus_to_exitcode(status),
        "cpu": took.ru_utime + took.ru_stime,
        "memory": took.ru_maxrss * 1024,
    }


def _bound(limits: Limits) -> None:
    die_with_parent()
    os.close(0)
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_NOFILE, (MAX_OPEN_FILES, MAX_OPEN_FILES))


def _read(content: bytes, limits: Limits, channel: int) -> None:
    def tell(done: int, of: int) -> None:
        _say(channel, {"page": done, "of": of})

    try:
        material = read_here(content, FileReading(limits, tell)).as_json()
    except UnreadableFile as error:
        _say(channel, {"unreadable": error.code})
    except Exception as error:  # noqa: BLE001 - whatever a stranger's file leads to
        short = isinstance(error, MemoryError) or _is_short_of_memory(limits)
        _say(channel, {"unreadable": "memory" if short else "damaged"})
    else:
        if len(material) > limits.output:
            _say(channel, {"unreadable": "bomb"})
        else:
            _write(channel, b'{"material":' + material + b"}\n")


def _is_short_of_memory(limits: Limits) -> bool:
    """True where it came near its bound: libraries tell of it in words of their own, or none."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123
        peak = next(line.split()[1] for line in status if line.startswith("VmPeak"))
    return int(peak) * 1024 > _NEAR * limits.memory


def _say(channel: int, message: dict[str, object]) -> None:
    _write(channel, json.dumps(message).encode() + b"\n")


def _write(channel: int, raw: bytes) -> None:
    left = memoryview(raw)
    while left:
        left = left[os.write(channel, left) :]


if __name__ == "__main__":
    main()
