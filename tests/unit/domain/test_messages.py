from router.domain.messages import ConfirmAction, Message


def test_messages_of_another_content_have_another_digest() -> None:
    messages = [
        Message(text="hi"),
        Message(text="hi", skill="policy-advisor"),
        Message(action=ConfirmAction(type="confirm", value=True)),
        Message(action=ConfirmAction(type="confirm", value=True, question="confirm:1")),
    ]
    assert len({message.digest for message in messages}) == len(messages)
    assert Message(text="hi").digest == messages[0].digest
