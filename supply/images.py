"""The images that containers are made of and run: by digest, or with the reason why not yet."""

import re
from collections.abc import Iterator, Mapping

_FROM = re.compile(r"^FROM\s+(?:--\S+\s+)*(\S+)", re.MULTILINE)
_ARGUMENT = re.compile(r"^ARG\s+(\w+)=(\S+)", re.MULTILINE)
_SERVICE = re.compile(r"^ +image: *[\"']?([^\s\"'#]+)", re.MULTILINE)
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
OWN = "intent-router:"
"""What compose builds here has no digest before it is built."""


def named(text: str) -> set[str]:
    """The images that a Dockerfile or a file of compose names, its arguments filled in."""
    arguments = dict(_ARGUMENT.findall(text))
    found = {*_FROM.findall(text), *_SERVICE.findall(text)}
    filled = {re.sub(r"\$\{(\w+)\}", lambda m: arguments.get(m[1], m[0]), one) for one in found}
    return {one for one in filled if not one.startswith(OWN)}


def problems(files: Mapping[str, str], excused: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the images that these files name: a line for each.

    Args:
        files: By path, the text of each.
        excused: By image, why it has no digest.
    """
    used = {image: path for path, text in files.items() for image in named(text)}
    for image, path in sorted(used.items()):
        if not _DIGEST.search(image) and image not in excused:
            yield (
                f"{path} names {image} without a digest, and its tag may be another image tomorrow:"
                f" write {image}@sha256:…, or say in supply/policy.toml why not"
            )
    for image in excused.keys() - used.keys():
        yield f"supply/policy.toml excuses {image}, which nothing names: take it out"
