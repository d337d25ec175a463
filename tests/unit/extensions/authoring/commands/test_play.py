"""`intent-router flows play`: a chat with a flow file."""

import io
from pathlib import Path

import pytest

from router.domain.errors import InvalidInput
from router.extensions.authoring.commands.play import step_of
from tests.unit.cli.conftest import Run
from tests.unit.extensions.authoring.trials import DRAFT

pytestmark = pytest.mark.xdist_group("trials")

TYPED = """\
我要办停车证
京A12345
yes
approver: {carol: approve}
approver: {bob: reject}
back
keep 还没有批
"""


@pytest.mark.slow
def test_a_flow_file_is_played_line_by_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "parking_permit.yaml").write_text(
        DRAFT.replace("call: issue_permit", "call: record_leave").replace(
            "with: {plate", "with: {reason"
        )
    )
    monkeypatch.setattr("sys.stdin", io.StringIO(TYPED))
    played = run("flows", "play", str(file))
    assert played.status == 0
    assert "车牌号是多少？" in played.out
    assert "bob is told: asked" in played.out
    assert "(parking_permit: rejected in tell_no)" in played.out
    kept = played.out[played.out.index("- story: 还没有批") :]
    assert kept.endswith(
        "    - expect: {status: waiting_approval, state: manager, approvers: [bob]}\n"
    )
    assert played.first_line.startswith("error: nothing waits for carol")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--user", "zoe"), "the directory has nobody called 'zoe'"),
        ((), "no such file"),
    ],
)
def test_what_cant_be_played_is_refused(
    run: Run, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    assert why in run.refused("flows", "play", str(tmp_path / "x.yaml"), *words)


def test_a_line_is_a_step_or_what_the_user_says() -> None:
    assert step_of("approver: {bob: approve}") == {"approver": {"bob": "approve"}}
    assert step_of("note: this is said") == {"user": "note: this is said"}
    with pytest.raises(InvalidInput, match="isn't YAML"):
        step_of("approver: {bob")
