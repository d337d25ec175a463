"""What is put right where a flow shows what it knows and asks whether to go on."""

from pydantic import JsonValue

from router.flow.view import FlowView
from router.understanding.adding import added
from router.understanding.corrections import after_yes, correction
from router.understanding.faulting import faulted
from router.understanding.restating import restated
from router.understanding.utterance import Utterance


def put_right(view: FlowView, utterance: Utterance) -> dict[str, JsonValue] | None:
    """The values that stand corrected, by slot name or path; None where nothing is.

    A new value needs no word of correction here: `那就下周一吧`. Where only something is said to be
    wrong, `日期错了`, `change` names the slot that is to be asked for anew.
    """
    corrected = correction(view, utterance) or added(view, utterance) or restated(view, utterance)
    if corrected:
        return corrected
    wrong = faulted(view, utterance.text[after_yes(utterance.text) :])
    return None if wrong is None else {**wrong}
