"""Licences: what each package says of its own by SPDX, and whether that is allowed here.

A package tells its licence by an expression, in words, or by classifiers, and some by none of
them; wheels hold libraries that their own metadata are silent about. `policy.toml` has what is
allowed everywhere, and by package what was found by reading.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression

from supply.environment import Package
from supply.policy import Licence

WORDS = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "bsd": "LicenseRef-BSD",
    "bsd 2-clause license": "BSD-2-Clause",
    "bsd license": "LicenseRef-BSD",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "psfl": "PSF-2.0",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
}
"""What is said in other words than SPDX's. `LicenseRef-BSD`: with two clauses or three, it isn't
said which."""
_PARTS = re.compile(r"\s*([()]|[^\s()]+)")


def expression(package: Package, said: Mapping[str, Licence]) -> str:
    """A package's licence by SPDX, empty where nothing tells it.

    Args:
        package: It.
        said: By package, what is known of it by reading.
    """
    if package.name in said:
        return said[package.name].expression
    for told in (package.expression, package.licence, " and ".join(package.classifiers)):
        found = _by_spdx(told)
        if found:
            return found
    return " AND ".join(filter(None, map(_by_spdx, package.classifiers)))


def _by_spdx(told: str) -> str:
    try:
        return str(canonicalize_license_expression(WORDS.get(told.lower(), told)))
    except InvalidLicenseExpression:
        return ""


def allows(told: str, allowed: Collection[str]) -> bool:
    """Whether one may take what is under this expression, where these licences are allowed.

    Of `OR` one is enough, of `AND` it takes all; an exception (`WITH`) belongs to its licence.

    Raises:
        ValueError: it is no expression.
    """
    parts = _PARTS.findall(re.sub(r"\s+WITH\s+", "+WITH+", told))
    outcome = _any(parts, {one.replace(" WITH ", "+WITH+") for one in allowed})
    if parts:
        raise ValueError(f"{told!r} is no licence expression, from {parts[0]!r} on")
    return outcome


def _any(parts: list[str], allowed: set[str]) -> bool:
    outcome = _all(parts, allowed)
    while parts[:1] == ["OR"]:
        parts.pop(0)
        outcome = _all(parts, allowed) or outcome
    return outcome


def _all(parts: list[str], allowed: set[str]) -> bool:
    outcome = _one(parts, allowed)
    while parts[:1] == ["AND"]:
        parts.pop(0)
        outcome = _one(parts, allowed) and outcome
    return outcome


def _one(parts: list[str], allowed: set[str]) -> bool:
    if not parts:
        raise ValueError("a licence expression ends too early")
    part = parts.pop(0)
    if part in {")", "AND", "OR"}:
        raise ValueError(f"a licence expression has {part!r} where a licence belongs")
    if part != "(":
        return part in allowed
    outcome = _any(parts, allowed)
    if not parts or parts.pop(0) != ")":
        raise ValueError("a licence expression has a parenthesis that isn't closed")
    return outcome


def problems(
    packages: Iterable[Package],
    allowed: Collection[str],
    said: Mapping[str, Licence],
    shipped: Collection[str],
    known: Collection[str],
) -> Iterator[str]:
    """What is wrong with the licences of these packages: a line for each.

    Args:
        packages: Those that are installed.
        allowed: Licences that anything may have.
        said: What `policy.toml` says by package.
        shipped: The packages that an installation or the image has.
        known: The packages that any lock has.
    """
    for one in packages:
        told = expression(one, said)
        if not told:
            yield (
                f"{one.name} {one.version} doesn't say its licence: read what its files say, and"
                f" give it in supply/policy.toml, [licences.of.{one.name}]"
            )
        elif not allows(told, {*allowed, *(said[one.name].accepted if one.name in said else ())}):
            yield (
                f"{one.name} {one.version} is under {told}, which supply/policy.toml doesn't allow:"
                " do without it, or say there why it may come in"
            )
    for name, licence in said.items():
        if name not in known:
            yield f"supply/policy.toml has a licence of {name}, which no lock has: take it out"
        if not licence.ships and name in shipped:
            yield f"{name} is for tests alone by supply/policy.toml, and what ships would have it"
