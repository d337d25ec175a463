from router.domain.messages import ConfirmAction, FormAction, Message, digest_of


def test_an_action_without_a_question_has_the_digest_that_it_always_had() -> None:
    """Message ids outlive versions: a repeat after an update is still the same message."""
    message = Message(action=ConfirmAction(type="confirm", value=True))
    assert message.digest == "a15cd2fc59836410"


def test_the_question_is_a_part_of_what_was_said() -> None:
    plain = Message(action=FormAction(type="form", values={}))
    named = Message(action=FormAction(type="form", values={}, question="details:1:start:ab"))
    assert plain.digest != named.digest


def test_whom_a_text_is_for_is_a_part_of_what_was_said() -> None:
    plain, addressed = Message(text="hi"), Message(text="hi", skill="policy-advisor")
    assert plain.digest == digest_of({"text": "hi", "action": None})
    assert addressed.digest != plain.digest
