"""What was said in a conversation: the turns that can be sent again, and what a model is told.

The last `MAX_HELD_TURNS` messages are held with their answers, and of `MAX_KNOWN_MESSAGES` the ids
and digests are known; what is older is only in the event log. Pure functions of the transcript.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Literal

from router.contracts.conversation_state import (
    MAX_HELD_TURNS,
    MAX_HISTORY_LINES,
    MAX_KNOWN_MESSAGES,
    HeldTurn,
    Transcript,
)
from router.domain import messages
from router.domain.errors import DuplicateKey
from router.domain.records import RecordedTurn

MAX_LINE_CHARS, MAX_RESULT_CHARS = 4_000, 2_000
"""Characters of a line that a model is told, and of the result of each call in it."""
MAX_HISTORY_CHARS = 9_000
"""Characters of all lines: if there are more, the oldest are shortened first."""
SHORT_LINE_CHARS, SHORT_RESULT_CHARS = 300, 120
MAX_GIST_CHARS = 80
STOPPED = "(The person stopped this before it was done.)"
BROKE = "(This couldn't be done.)"
UNSAID = "(Nothing was said to this by itself.)"
"""What a model is told of a turn that was stopped, broke, or has no words of its own."""


def find_turn(transcript: Transcript, message_id: str) -> HeldTurn | None:
    """Return the message with this id if its answer is still held."""
    turns = reversed(transcript.last_turns)
    return next((held for held in turns if held.message_id == message_id), None)


def find_digest(transcript: Transcript, message_id: str) -> str | None:
    """Return the digest of the message with this id if that is still known."""
    held = find_turn(transcript, message_id)
    return held.digest if held else transcript.earlier_digests.get(message_id)


def last_turn(transcript: Transcript) -> messages.Turn | None:
    """Return the last turn whose answer is still held."""
    turns = reversed(transcript.last_turns)
    return next((held.turn for held in turns if held.turn is not None), None)


def add_turn(transcript: Transcript, answered: HeldTurn) -> Transcript:
    """Return the transcript after one more message was answered."""
    held, known = [*transcript.last_turns, answered], dict(transcript.earlier_digests)
    known |= {one.message_id: one.digest for one in held[:-MAX_HELD_TURNS]}
    is_full = len(known) > MAX_KNOWN_MESSAGES - MAX_HELD_TURNS
    return transcript.replace(
        turn_count=transcript.turn_count + 1,
        last_turns=held,
        earlier_digests=known,
        has_older=transcript.has_older or is_full,
        usage=transcript.usage + (answered.turn.usage if answered.turn else messages.Usage()),
    )


def add_recorded(transcript: Transcript, found: Iterable[RecordedTurn]) -> Transcript:
    """Return the transcript with these turns, which it doesn't know, as the last ones."""
    for one in found:
        turn = one.turn
        held = HeldTurn(message_id=turn.message_id, digest=one.digest, turn=turn)
        transcript = add_turn(transcript.replace(turn_count=turn.turn - 1), held)
    return transcript


def other_message(message_id: str) -> DuplicateKey:
    """Return the error for a message that is sent by the id of an earlier, different one."""
    return DuplicateKey(
        f"Message id {message_id!r} was used for another message; use a new id, or send the "
        "same message again to get its answer."
    )


def remember(
    transcript: Transcript,
    said: str,
    answered: str,
    routes: Sequence[messages.Route],
    files: Sequence[str] = (),
) -> Transcript:
    """Return the transcript with one more exchange in what a model is told of the past."""
    targets = ", ".join(f"{r.kind} {r.target}" if r.target else r.kind for r in routes)
    gist = f"{' '.join(said.split())[:MAX_GIST_CHARS]} ▸ {targets}"
    calls = transcript.turn_calls
    lines = [
        *transcript.history,
        _make_line("user", said).replace(files=[*files]),
        _make_line("assistant", answered).replace(calls=calls),
    ]
    history = shorten(lines[-MAX_HISTORY_LINES:])
    return transcript.replace(history=history, gists=[*transcript.gists, gist], turn_calls=[])


def _make_line(role: Literal["user", "assistant"], text: str) -> messages.SpokenLine:
    shown, whole_chars = _cut(text, MAX_LINE_CHARS)
    return messages.SpokenLine(role=role, text=shown, whole_chars=whole_chars)


def remember_results(
    transcript: Transcript, wanted: str, answered: str, routes: Sequence[messages.Route]
) -> Transcript:
    """Return the transcript with the results of calls that the front end has made.

    They are part of the answer to the message that `wanted` them.
    """
    made = {call.id: call for call in transcript.turn_calls}
    place = find_line(transcript.history, made.keys())
    if place is None:
        return remember(transcript, wanted, answered, routes) if made else transcript
    line = transcript.history[place]
    known = [made.pop(call.id, call) for call in line.calls]
    whole = line.replace(calls=[*known, *made.values()])
    if answered:
        said, whole_chars = _cut("\n".join(filter(None, (line.text, answered))), MAX_LINE_CHARS)
        whole = whole.replace(text=said, whole_chars=whole_chars)
    lines = [*transcript.history[:place], whole, *transcript.history[place + 1 :]]
    return transcript.replace(history=shorten(lines), turn_calls=[])


def text_of(replies: Sequence[messages.Reply]) -> str:
    """Return the replies as plain text, a paragraph each."""
    return "\n".join(reply.text for reply in replies)


def tell_model(turn: messages.Turn) -> str:
    """Return what a model is told that the turn said: no notices, but how the turn ended."""
    spoken = messages.without_notices(turn.replies)
    ends = {"cancelled": STOPPED, "failed": BROKE}
    told = "\n".join(filter(None, (text_of(spoken), ends.get(turn.status, ""))))
    return told or ("" if turn.tool_calls else UNSAID)


def recall_call(call: messages.ToolCallView, result: str) -> messages.RecalledCall:
    """Return a call and its result as a model is told of them."""
    shown, whole_chars = _cut(result, MAX_RESULT_CHARS)
    return messages.RecalledCall(
        id=call.id,
        name=call.name,
        arguments=call.arguments,
        result=shown,
        whole_chars=whole_chars,
    )


def shorten(lines: Sequence[messages.SpokenLine]) -> list[messages.SpokenLine]:
    """Return the lines within `MAX_HISTORY_CHARS`: results give way before words, the oldest first.

    The last exchange stays whole, and a call stays with its result.
    """
    kept = list(lines)
    for shorten_line in (_with_short_results, _with_short_words):
        for place in range(len(kept) - 2):
            if sum(len(line.told) for line in kept) <= MAX_HISTORY_CHARS:
                return kept
            kept[place] = shorten_line(kept[place])
    return kept


def _with_short_results(line: messages.SpokenLine) -> messages.SpokenLine:
    return line.replace(calls=[_with_short_result(call) for call in line.calls])


def _with_short_result(call: messages.RecalledCall) -> messages.RecalledCall:
    result, whole_chars = _cut(call.result, SHORT_RESULT_CHARS, call.whole_chars)
    return call.replace(result=result, whole_chars=whole_chars)


def _with_short_words(line: messages.SpokenLine) -> messages.SpokenLine:
    text, whole_chars = _cut(line.text, SHORT_LINE_CHARS, line.whole_chars)
    return line.replace(text=text, whole_chars=whole_chars)


def _cut(text: str, longest: int, whole_chars: int = 0) -> tuple[str, int]:
    """Return the beginning of a text, with its whole length at the end, and that length.

    `whole_chars` is the length if the text was cut before. The length returned is 0 if the text is
    whole.
    """
    head = text[: -len(_length_note(whole_chars))] if whole_chars else text
    if len(head) <= longest:
        return text, whole_chars
    chars = whole_chars or len(text)
    return head[:longest] + _length_note(chars), chars


def _length_note(chars: int) -> str:
    return f"… ({chars} characters in all)"


def names_in_play(transcript: Transcript) -> list[str]:
    """Return the capabilities of the last answer: the next message may be about them."""
    last = last_turn(transcript)
    if last is None:
        return []
    routes = last.routes or [last.route]
    named = [*(route.target for route in routes), *(call.name for call in last.tool_calls)]
    return list(dict.fromkeys(name for name in named if name))


def tools_called_lately(transcript: Transcript) -> frozenset[str]:
    """Return the tools that had a part in what a model is told of the past."""
    turns = (held.turn for held in transcript.last_turns[-MAX_HISTORY_LINES // 2 :])
    return frozenset(call.name for turn in turns if turn for call in turn.tool_calls)


def earlier_gists(transcript: Transcript) -> list[str]:
    """Return what messages asked for that are too long ago to be told whole."""
    return transcript.gists[: -len(transcript.history) // 2] if transcript.history else []


def find_line(history: Sequence[messages.SpokenLine], calls: Collection[str]) -> int | None:
    """Return the place of the line that these calls were made for; `None` if it is forgotten."""
    for place in reversed(range(1, len(history))):
        if any(call.id in calls for call in history[place].calls):
            return place
    return None


def before_calls(
    history: Sequence[messages.SpokenLine], calls: Collection[str]
) -> list[messages.SpokenLine]:
    """Return the history without the exchange that led to these calls: it is being answered now."""
    place = find_line(history, calls)
    return [*history] if place is None else [*history[: place - 1], *history[place + 1 :]]
