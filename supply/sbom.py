"""The bill of materials: what is installed, as CycloneDX 1.6 in JSON.

    python -m supply.sbom [--packages FOLDER] [--system FOLDER] > bom.cdx.json

Of the interpreter that runs it, or of the packages in a folder; of intent-router and what it
needs, so that what only tests need isn't in it. With `--system` Debian's packages are in it too,
from the database under that folder. The same packages make the same file, byte for byte.
"""

import argparse
import json
import os
import platform
import sys
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from supply.environment import Package, closure, installed
from supply.licences import expression
from supply.locks import held
from supply.policy import Policy, kept

OWN = "intent-router"
EPOCH = 1_580_601_600
"""Seconds since 1970 of 2020-02-02, what the wheel's files have too, where nobody sets
`SOURCE_DATE_EPOCH`."""


def reference(name: str, version: str) -> str:
    """The address of a package of Python's, by which lists of advisories know it."""
    return f"pkg:pypi/{name}@{quote(version)}"


def component(package: Package, policy: Policy, hashes: Sequence[str] = ()) -> dict[str, Any]:
    """A package as the bill has it.

    Args:
        package: It.
        policy: What is known of licences by reading.
        hashes: SHA-256 of the files that the lock allows for it.
    """
    address = reference(package.name, package.version)
    told: dict[str, Any] = {
        "type": "application" if package.name == OWN else "library",
        "bom-ref": address,
        "name": package.name,
        "version": package.version,
        "purl": address,
    }
    if package.summary:
        told["description"] = package.summary
    licence = expression(package, policy.licences)
    if licence:
        told["licenses"] = [{"expression": licence}]
    if hashes:
        found = [{"alg": "SHA-256", "content": one} for one in sorted(hashes)]
        told["externalReferences"] = [
            {"type": "distribution", "url": address, "comment": "any of these", "hashes": found}
        ]
    if package.native:
        told["properties"] = [
            {"name": "intent-router:native", "value": file} for file in package.native
        ]
    return told


def debian(status: str) -> list[dict[str, Any]]:
    """Debian's packages by the text of its database, `var/lib/dpkg/status`."""
    found = []
    for paragraph in status.split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in paragraph.splitlines() if ": " in line and line[0] > " "
        )
        if fields.get("Status", "").endswith(" installed"):
            name, version = fields["Package"], fields["Version"]
            where = f"{quote(name, safe='')}@{quote(version, safe='')}"
            address = f"pkg:deb/debian/{where}?arch={fields['Architecture']}"
            told = {"type": "library", "bom-ref": address, "name": name, "version": version}
            found.append({**told, "purl": address})
    return sorted(found, key=lambda one: str(one["bom-ref"]))


def _edges(packages: Iterable[Package], extras: Iterable[str]) -> list[dict[str, Any]]:
    versions = {one.name: one.version for one in packages}
    asked: dict[str, set[str]] = {one.name: set() for one in packages}
    asked[OWN] |= set(extras)
    for one in packages:
        for requirement in one.needs(asked[one.name]):
            asked.get(canonicalize_name(requirement.name), set()).update(requirement.extras)
    return [
        {
            "ref": reference(one.name, one.version),
            "dependsOn": sorted(
                {
                    reference(name, versions[name])
                    for need in one.needs(asked[one.name])
                    if (name := canonicalize_name(need.name)) in versions
                }
            ),
        }
        for one in packages
    ]


def bill(
    packages: Sequence[Package],
    policy: Policy,
    hashes: Mapping[str, Sequence[str]],
    system: Sequence[Mapping[str, Any]] = (),
    moment: int = EPOCH,
) -> dict[str, Any]:
    """The bill of materials.

    Args:
        packages: What is installed, intent-router among it.
        policy: What is known of licences, and which extras the image has.
        hashes: By package, those that its lock allows.
        system: Components that aren't Python's.
        moment: Seconds since 1970 that it is of.

    Raises:
        LookupError: intent-router, or what it needs, isn't among the packages.
    """
    extras = policy.locks["image"]
    needed = closure(packages, [Requirement(f"{OWN}[{','.join(extras)}]")])
    own = next(one for one in needed if one.name == OWN)
    others = [one for one in needed if one.name != OWN]
    told = {
        "metadata": {
            "timestamp": datetime.fromtimestamp(moment, UTC).isoformat(),
            "component": component(own, policy),
            "properties": [
                {"name": "intent-router:python", "value": platform.python_version()},
                {"name": "intent-router:machine", "value": platform.machine()},
            ],
        },
        "components": [
            *(component(one, policy, hashes.get(one.name, ())) for one in others),
            *system,
        ],
        "dependencies": _edges(needed, extras),
    }
    number = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(told, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": number.urn}
    return {**head, "version": 1, **told}


def main() -> int:
    """Print the bill; 1 where something that is needed isn't installed."""
    parser = argparse.ArgumentParser(prog="python -m supply.sbom")
    parser.add_argument("--packages", help="the folder that packages are installed in")
    parser.add_argument("--system", type=Path, help="a root folder, Debian's packages of which")
    told = parser.parse_args()
    hashes = {pin.name: pin.hashes for pin in held().get("image", ()) if pin.here}
    system = debian((told.system / "var/lib/dpkg/status").read_text()) if told.system else []
    moment = int(os.environ.get("SOURCE_DATE_EPOCH", EPOCH))
    try:
        found = installed([told.packages] if told.packages else None)
        made = bill(found, kept(), hashes, system, moment)
    except LookupError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(made, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
