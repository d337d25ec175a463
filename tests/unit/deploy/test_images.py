"""Images are named by digest, or there is a reason."""

from pathlib import Path

from supply.images import named, problems
from supply.policy import kept
from tests.table import each_row

ROOT = Path(__file__).parents[3]
DIGEST = f"sha256:{'a1' * 32}"
DOCKERFILE = """ARG PYTHON=3.11-slim
FROM python:${PYTHON} AS build
FROM --platform=linux/amd64 debian:12
"""
COMPOSE = f"""services:
  a:
    image: "postgres:16@{DIGEST}"
  b:
    image: prom/prometheus:v3 # watches
  own:
    image: intent-router:local
"""


def test_images_are_found_in_both_kinds_of_files() -> None:
    assert named(DOCKERFILE) == {"python:3.11-slim", "debian:12"}
    assert named(COMPOSE) == {f"postgres:16@{DIGEST}", "prom/prometheus:v3"}


@each_row(
    ("image", "excused", "begins"),
    [
        (f"postgres:16@{DIGEST}", {}, []),
        ("postgres:16", {}, ["compose names postgres:16 without a digest"]),
        ("postgres", {}, ["compose names postgres without a digest"]),
        ("postgres:16@sha256:a1", {}, ["compose names postgres:16@sha256:a1 without a digest"]),
        ("postgres:16", {"postgres:16": "not looked up"}, []),
        (
            f"postgres:16@{DIGEST}",
            {"postgres:16": "not looked up"},
            ["supply/policy.toml excuses postgres:16"],
        ),
    ],
)
def test_a_tag_without_a_digest_needs_a_reason_and_a_reason_a_tag(
    image: str, excused: dict[str, str], begins: list[str]
) -> None:
    found = [*problems({"compose": f"services:\n  a:\n    image: {image}\n"}, excused)]
    assert len(found) == len(begins)
    assert all(line.startswith(start) for line, start in zip(found, begins, strict=True))


def test_every_image_of_the_repository_has_a_digest_or_a_reason() -> None:
    files = {name: (ROOT / name).read_text() for name in ("Dockerfile", "docker-compose.yml")}
    assert all(named(text) for text in files.values())
    assert [*problems(files, kept().images)] == []
