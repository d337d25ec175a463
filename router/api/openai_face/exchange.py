"""One message and its answer: from what a client asks to the conversation, and back as text."""

from collections.abc import Mapping
from dataclasses import dataclass

from router.api.deps import Services
from router.api.openai_face import jobs
from router.api.openai_face.asked import Completion
from router.api.openai_face.attachments import attached
from router.api.openai_face.models import skill_meant
from router.api.openai_face.naming import Chats, message_id
from router.api.plain import said_text
from router.api.standing import standing
from router.contracts.conversation import Submission
from router.domain.errors import FieldProblem, InvalidInput
from router.domain.messages import FlowSummary, Message
from router.domain.plain_replies import as_plain_text, replies_of
from router.domain.principals import Principal
from router.domain.records import ConversationRecord, FileRecord
from router.domain.texts import Localised

SINCE = Localised(zh="（上次之后的消息）", en="(Since your last message)")
KEPT = Localised(
    zh="文件“{name}”已收下。问到文件时，回复编号 {id} 即可。",
    en="The file “{name}” is kept. Where a file is asked for, answer {id}.",
)
NOT_ASKED_FOR = Localised(
    zh="现在没有哪一步要文件：请同时写明这个文件是做什么用的。",
    en="Nothing asks for a file right now: say in words what it is for.",
)


@dataclass(frozen=True)
class Exchange:
    """A message that is ready to be sent, and what belongs to its answer besides the turn's."""

    services: Services
    record: ConversationRecord
    submission: Submission
    note: str = ""

    async def news(self) -> str:
        """What runs have said by themselves since the turn before; nothing, where they haven't.

        A chat UI is told nothing in between, so this is where its user hears of it. A repeat
        of the message hears the same again.
        """
        record = self.record
        rows = await self.services.store.log.untold(
            record.tenant, record.id, self.submission.message_id
        )
        told = [as_plain_text(replies_of(row.data), record.locale) for row in rows]
        return "\n\n".join([SINCE.within(record.locale), *told]) if told else ""


@dataclass(frozen=True)
class Desk:
    """Takes what a client asks to where it is answered."""

    services: Services
    speaker: Principal

    async def exchange(
        self, asked: Completion, headers: Mapping[str, str], key: str | None
    ) -> Exchange:
        """The message that the request comes to, in its conversation.

        Raises:
            InvalidInput: the message has nothing to say, too much, or a file of no use.
            NotFound: there is no such model.
        """
        skill = skill_meant(asked.model, self.services, self.speaker)
        file = attached(asked)
        words = jobs.spoken(asked.said.words.strip())
        if file is None or words:
            words = said_text(words, asked.where)
        store = self.services.store
        record = await Chats(store.conversations, store.log, self.speaker).of(asked, headers)
        id_, note = message_id(asked, headers, key), ""
        message = Message(text=words, skill=skill)
        if file is not None:
            about = file.record(self.speaker)
            handed_in = Message(text=about.id)
            if await self._is_for_file(record, id_, handed_in):
                message = handed_in
            elif not words:
                raise _of_no_use(asked)
            else:
                note = _kept(about, record)
            await store.files.keep(about, file.content)
        return Exchange(self.services, record, self._submission(id_, message), note)

    def _submission(self, id_: str, message: Message) -> Submission:
        seconds = self.services.settings.llm_turn_seconds
        return Submission(message_id=id_, message=message, caller=self.speaker, seconds=seconds)

    async def _is_for_file(self, record: ConversationRecord, id_: str, handed_in: Message) -> bool:
        """True where the flow asks for a file. Of a repeat: where it did so the first time."""
        store = self.services.store
        before = await store.log.turn(record.tenant, record.id, id_)
        if before is not None:
            return before.digest == handed_in.digest
        now = await standing(self.services.temporal, store.conversations, record.tenant, record.id)
        return now.active_flow is not None and self._asks_for_file(now.active_flow)

    def _asks_for_file(self, flow: FlowSummary) -> bool:
        definition = self.services.offered.startable(flow.name, self.speaker)
        slots = (definition.slot_at(path) for path in flow.awaiting[:1]) if definition else ()
        return any(slot is not None and slot.type == "file" for slot in slots)


def _kept(file: FileRecord, record: ConversationRecord) -> str:
    return KEPT.within(record.locale).format(name=file.name, id=file.id)


def _of_no_use(asked: Completion) -> InvalidInput:
    return InvalidInput(NOT_ASKED_FOR, [FieldProblem(asked.where, "a file that nothing asks for")])
