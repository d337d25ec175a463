"""A Docker engine of the test's own, and the images that no registry gives where it runs.

Images are pulled where that works. What can't be is stood in for, and said: `debootstrap` makes the
base, PostgreSQL is Debian's, Temporal its development server. Made once in a folder, they are
there for the next run.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from router.runtime.temporal_server import binary
from supply.images import named

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent / "stand_ins"
BARE = "debian:bare"
BASE = "ca-certificates,netcat-openbsd,python3,python3-pip,python3-venv,wget"
STAND_IN = "stand_in"
"""The label that is on ours."""
BUNDLE = "etc/ssl/certs/ca-certificates.crt"
STARTED_WITHIN, STOPPED_WITHIN = 60.0, 60.0
ENTRANCES = {"postgres": '["postgres"]', "temporalio/server": "[]", "temporalio/admin-tools": "[]"}
"""By image, what its stand-in starts with. All others only answer."""
NEEDS = {
    "dockerd": "docker.io",
    "docker-compose": "docker-compose",
    "debootstrap": "debootstrap",
    "script": "bsdutils",
}
"""By command, the package of Debian that has it."""


@dataclass(frozen=True)
class Engine:
    """One that answers."""

    host: str

    @property
    def environment(self) -> dict[str, str]:
        """What `docker` and `docker-compose` have to be told of it."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("ROUTER_", "COMPOSE_"))}
        return {**kept, "DOCKER_HOST": self.host, "DOCKER_BUILDKIT": "0"}

    def docker(self, *words: str, given: bytes | None = None, may_fail: bool = False) -> str:
        """What `docker` says to these words; `AssertionError` where it fails."""
        command = ["docker", *words]
        ended = subprocess.run(
            command, env=self.environment, input=given, capture_output=True, check=False
        )
        said = (ended.stdout + ended.stderr).decode("utf-8", "replace")
        assert may_fail or ended.returncode == 0, f"{' '.join(command)}: {said[-3000:]}"
        return ended.stdout.decode().strip() if ended.returncode == 0 else ""

    def images(self, folder: Path) -> tuple[list[str], list[str]]:
        """Have every image that the two files name; gives those pulled, and those stood in for."""
        wanted = set[str]().union(
            *(named((ROOT / file).read_text()) for file in ("Dockerfile", "docker-compose.yml"))
        )
        pulled, missing = list[str](), list[str]()
        for image in sorted(wanted):
            given = self._is_real(image) or self.docker("pull", "--quiet", image, may_fail=True)
            (pulled if given else missing).append(image)
        if missing:
            self._stand_in(missing, folder)
        return pulled, missing

    def _is_real(self, image: str) -> bool:
        """True where it is there, and none of ours."""
        form = f"{{{{index .Config.Labels {STAND_IN!r}}}}}".replace("'", '"')
        found = self.docker("image", "inspect", image, "--format", form + "|", may_fail=True)
        return found == "|"

    def _stand_in(self, missing: list[str], folder: Path) -> None:
        if not self.docker("images", "--quiet", BARE):
            self.docker("import", str(bare(folder)), BARE)
        built = f"{BARE}-stand-in"
        with_temporal = folder / "stand-ins"
        shutil.copytree(OWN, with_temporal, dirs_exist_ok=True)
        shutil.copy2(binary(), with_temporal)
        for file in with_temporal.iterdir():
            file.chmod(0o755)
        self.docker("build", "--tag", built, str(with_temporal))
        for image in missing:
            name = image.partition("@")[0].rpartition(":")[0]
            entrance = ENTRANCES.get(name, '["listener"]')
            recipe = f"FROM {built}\nENTRYPOINT {entrance}\n"
            if name == "python":
                recipe = f"FROM {BARE}\nRUN ln -sf /usr/bin/python3 /usr/local/bin/python\n"
            recipe += f"LABEL {STAND_IN}=true\n"
            self.docker("build", "--tag", image, "-", given=recipe.encode())


def bare(folder: Path) -> Path:
    """An archive of Debian with Python and nothing else, which trusts whom this machine trusts."""
    archive, root = folder / "bare.tar", folder / "bare"
    if not archive.exists():
        shutil.rmtree(root, ignore_errors=True)
        words = ["debootstrap", "--variant=minbase", f"--include={BASE}", "bookworm", str(root)]
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stdout[-2000:] + made.stderr
        shutil.copy2(Path("/") / BUNDLE, root / BUNDLE)
        half = archive.with_suffix(".half")
        pack = ["tar", "--create", "--one-file-system", f"--directory={root}", f"--file={half}"]
        subprocess.run([*pack, "."], check=True)
        half.rename(archive)
        shutil.rmtree(root)
    return archive


def lacking() -> list[str]:
    """What this machine has to have for it and hasn't; none where it can be done."""
    given = os.environ.get("DOCKER_HOST")
    wanted = {k: v for k, v in NEEDS.items() if not given or k in {"docker-compose", "script"}}
    found = [f"{k} (apt-get install {v})" for k, v in wanted.items() if shutil.which(k) is None]
    return found + (["root, which starts an engine"] if not given and os.geteuid() else [])


@contextmanager
def engine(folder: Path) -> Iterator[Engine]:
    """The one in `DOCKER_HOST`, else one of our own in this folder, stopped on leaving."""
    if given := os.environ.get("DOCKER_HOST"):
        yield Engine(given)
        return
    folder.mkdir(parents=True, exist_ok=True)
    host = f"unix://{folder}/docker.sock"
    roots = [f"--data-root={folder}/data", f"--exec-root={folder}/exec"]
    with (folder / "dockerd.log").open("wb") as log:
        daemon = subprocess.Popen(
            ["dockerd", "--host", host, *roots, f"--pidfile={folder}/docker.pid"],
            stdout=log,
            stderr=log,
        )
    try:
        own = Engine(host)
        _wait_until_it_answers(own, daemon, folder / "dockerd.log")
        yield own
    finally:
        daemon.terminate()
        daemon.wait(STOPPED_WITHIN)


def _wait_until_it_answers(own: Engine, daemon: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + STARTED_WITHIN
    while not own.docker("info", "--format", "{{.ServerVersion}}", may_fail=True):
        if daemon.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"no engine can be started here: {log.read_text()[-1500:]}")
        time.sleep(0.5)
