"""The gallery: whole processes to begin from, each a flow with its stories and its tools' file.

They stand below the flows that ship, so that no folder of flows takes them up by itself: somebody
copies one, or names the folder (`docs/gallery/index.md`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from router.domain.errors import NotFound, nearest
from router.domain.locale import Localised
from router.flow.definition import FlowDefinition
from router.flow.loader import load_flow
from router.settings.sample import sample_folder


@dataclass(frozen=True)
class GalleryFlow:
    """One process: its flow file, and what stands beside it."""

    path: Path

    @property
    def name(self) -> str:
        """The flow's, and its files'."""
        return self.path.stem

    @cached_property
    def definition(self) -> FlowDefinition:
        """What the file says; names of tools in it are checked once they are declared somewhere."""
        return load_flow(self.path)

    @property
    def text(self) -> str:
        """The flow file, to the byte."""
        return self.path.read_text(encoding="utf-8")

    @property
    def stories(self) -> str:
        """Its story file; empty where there is none."""
        return _text(self.path.parent / "tests" / f"{self.name}.yaml")

    @property
    def tools(self) -> str:
        """The file that declares the tools which it calls; empty where there is none."""
        return _text(self.path.parent / "tools" / f"{self.name}.json")


class Gallery:
    """The processes of a folder, by name; the shipped ones where none is named."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or sample_folder("flows") / "gallery"
        self._flows = {path.stem: GalleryFlow(path) for path in sorted(self._folder.glob("*.yaml"))}

    def __iter__(self) -> Iterator[GalleryFlow]:
        return iter(self._flows.values())

    def find(self, name: str) -> GalleryFlow:
        """The process of this name; raises `NotFound`."""
        if name not in self._flows:
            known = nearest(name, self._flows) or f"there are {', '.join(self._flows)}"
            zh = f"流程库里没有 {name[:64]}，有 {'、'.join(self._flows)}"
            raise NotFound(Localised(zh=zh, en=f"the gallery has no {name[:64]}: {known}"))
        return self._flows[name]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
