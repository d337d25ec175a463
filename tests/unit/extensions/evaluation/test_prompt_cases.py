"""Files of cases: what they may say, and what is said of those that say something else."""

from pathlib import Path

import pytest

from router.domain.errors import DefinitionError
from router.extensions.evaluation.assertions import ASSERTIONS
from router.extensions.evaluation.commands.prompt_evaluation import read_all_cases
from router.extensions.evaluation.commands.prompt_jobs import job_inputs
from router.extensions.evaluation.prompt_cases import PromptCase, cases_in, read_cases
from router.runtime.prompts import load_prompts, prompt_jobs
from router.settings import Settings
from tests.table import each_row

ONE = """\
job: translate
cases:
  - case: lift
    locale: en
    given: {text: The lift is out of order., to: zh}
    expect: {language: zh}
"""

INPUTS = job_inputs([])


def problems(path: Path, text: str | bytes) -> list[str]:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DefinitionError) as found:
        read_cases(path, INPUTS)
    return [f"{problem.line}: {problem.what}" for problem in found.value.problems]


@pytest.fixture(scope="module")
def cases() -> dict[str, list[PromptCase]]:
    """All that ship, by their jobs."""
    return read_all_cases(None, prompt_jobs(Settings.load()))


@pytest.mark.slow
def test_every_job_ships_with_six_cases_in_both_languages(
    cases: dict[str, list[PromptCase]],
) -> None:
    assert set(cases) == set(load_prompts(Settings.load()).jobs)
    for job, each in cases.items():
        assert len(each) >= 6, job
        assert {case.locale for case in each} == {"zh", "en"}, job


@pytest.mark.slow
def test_every_kind_of_assertion_is_used_by_a_case_that_ships(
    cases: dict[str, list[PromptCase]],
) -> None:
    used = {kind for each in cases.values() for case in each for kind in case.expect}
    of_skills = {"calls", "not_calls", "file"}  # used by the tasks for them
    assert used | of_skills == {*ASSERTIONS}


def test_a_case_has_what_is_given_and_what_is_asserted(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ONE)
    (case,) = read_cases(tmp_path / "a.yaml", INPUTS)
    assert (case.job, case.name, case.locale, case.expect) == (
        "translate",
        "lift",
        "en",
        {"language": "zh"},
    )
    assert case.given.model_dump(include={"text", "to"}) == {
        "text": "The lift is out of order.",
        "to": "zh",
    }


HOSTILE = {
    "nothing": ("", "1: the file is no mapping"),
    "a-list": ("- a\n", "1: the file is no mapping"),
    "no-job": ("cases: []\n", "1: there is no job"),
    "unknown-job": ("job: translat\ncases: []\n", "1: job is 'translat'"),
    "job-of-no-text": ("job: [router]\n", "1: job is ['router']"),
    "no-cases": ("job: translate\n", "1: there is no cases"),
    "none": ("job: translate\ncases: []\n", "2: the file has 0 cases"),
    "no-expect": (ONE.replace("    expect: {language: zh}\n", ""), "3: expect is no mapping"),
    "asserts-nothing": (ONE.replace("{language: zh}", "{}"), "6: expect asserts nothing"),
    "unknown-assertion": (ONE.replace("language:", "lnguage:"), "6: there is no lnguage"),
    "unknown-language": (ONE.replace("{language: zh}", "{language: fr}"), "6: language is 'fr'"),
    "unknown-input": (ONE.replace("to: zh", "too: zh"), "5: there is no too"),
    "no-input": (ONE.replace(", to: zh", ""), "5: there is no to"),
    "bad-locale": (ONE.replace("locale: en", "locale: de"), "4: locale is 'de'"),
    "bad-name": (ONE.replace("case: lift", "case: The Lift"), "3: case 'The Lift' is no name"),
    "twice": (ONE + ONE.split("cases:\n")[1], "7: there is a case 'lift' already"),
    "key-twice": (ONE.replace("locale: en", "locale: en\n    locale: en"), "5: locale comes twice"),
    "no-re2": (ONE.replace("language: zh", 'matches: "(?=a)"'), "6: matches isn't RE2"),
    "no-schema": (ONE.replace("language: zh", "schema: {type: 7}"), "6: schema is no JSON Schema"),
    "a-reference": (
        ONE.replace("language: zh", 'schema: {$ref: "http://example.com/a"}'),
        "6: schema refers to another schema",
    ),
    "empty-list": (ONE.replace("language: zh", "contains: []"), "6: contains is []"),
    "bad-year": (ONE.replace("to: zh", "to: zh, now: soon"), "5: now"),
    "a-tag": (ONE.replace("language: zh", "judge: !!python/none x"), "6: the tag"),
    "an-alias-bomb": (
        "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcd", "bcde"))  # noqa: B905
        + "job: translate\n",
        "1: the file says more than 20,000 things",
    ),
    "not-utf-8": (b"job: \xff\xfe\n", "1: this isn't UTF-8"),
    "too-large": ("#" * 300_000, "1: it is over 256 KiB"),
}


@pytest.mark.slow
@each_row(("text", "said"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_wrong_is_said_at_its_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    found = problems(tmp_path / "a.yaml", text)
    assert any(each.startswith(said) for each in found), found


@pytest.mark.slow
def test_all_that_is_wrong_in_all_files_is_said_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ONE.replace("locale: en", "locale: de"))
    (tmp_path / "b.yaml").write_text(ONE.replace("to: zh", "too: zh"))
    with pytest.raises(DefinitionError) as found:
        cases_in(tmp_path, INPUTS)
    assert {Path(each.file).name for each in found.value.problems} == {"a.yaml", "b.yaml"}


@pytest.mark.parametrize("folder", ["empty", "absent"])
def test_a_folder_without_cases_is_refused(tmp_path: Path, folder: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DefinitionError, match="name one with files"):
        cases_in(tmp_path / folder, INPUTS)
