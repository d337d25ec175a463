"""Jobs that chat UIs give to the model behind a chat: titles, tags, follow-ups and the like.

They come to the same address as what people say, and are no part of the conversation. They are
answered here, without a model, in the shape that is asked for; nothing is begun, kept or told.
"""

import json
from collections.abc import Mapping
from typing import Any

from router.domain.locale import Locale, Localised
from router.domain.messages import SpokenLine
from router.extensions.openai.request import (
    Completion,
    ObjectFormat,
    SchemaFormat,
    plain_lines,
)
from router.formats.regex import compiled

Job = str
"""What is asked for: `title`, a key of `_EMPTY`, or `other`."""

TASK_HEADERS = ("x-openwebui-task", "x-chat-task")
LONGEST_TITLE = 30
"""Characters: what the list of chats in a side bar has room for."""

_TASKS: dict[str, Job] = {
    "title_generation": "title",
    "tags_generation": "tags",
    "follow_up_generation": "follow_ups",
    "query_generation": "queries",
    "autocomplete_generation": "autocompletion",
    "emoji_generation": "emoji",
    "image_prompt_generation": "image_prompt",
    "function_calling": "tool_calls",
    "moa_response_generation": "other",
    "context_compaction": "other",
    "context_summary": "other",
    "memory_review": "other",
}
"""What Open WebUI calls its tasks."""

_OPENING = "### Task:"
_ABOUT_DOCUMENTS = compiled(r"\A### Task:\s+Respond to the user query using the provided context")
_CONTEXT, _CONTEXT_ENDS = "<context>", "</context>"
_QUERY, _QUERY_ENDS = "<user_query>", "</user_query>"
_HAS_TITLE = compiled(r'"title"\s*:')
_SHAPES: tuple[tuple[Any, Job], ...] = tuple(
    (compiled(expression), job)
    for expression, job in (
        (r'"title"\s*:|\btitle\b.{0,40}\b(?:summarizing|chat|conversation)', "title"),
        (r"\A### Task:\s*[^\n]{0,60}\btitle\b", "title"),
        (r'"tags"\s*:', "tags"),
        (r'"follow_ups"\s*:', "follow_ups"),
        (r'"queries"\s*:', "queries"),
        ("autocompletion system", "autocompletion"),
        ("image generation task", "image_prompt"),
    )
)
"""What each of Open WebUI's prompts asks for, under the same heading."""
_PLEASE = "(?:Please )?(?i:provide|generate|write|create)"
_PROMPTS: tuple[tuple[Any, Job], ...] = tuple(
    (compiled(expression), job)
    for expression, job in (
        # LibreChat, by its methods `structured` and `completion`, and for assistants
        (r"\AAnalyze this conversation and provide:\n.*\n.*\btitle\b", "title"),
        (rf"\A{_PLEASE} a concise,? 5-word-or-less title for the conversation", "title"),
        (r"\|\|>Title:\z", "title"),
        (r"\APlease generate a concise title \(max \d+ characters\)", "title"),
        # NextChat
        (r"\APlease generate a four to five word title summarizing our conv", "title"),
        (r"\A使用四到五个字直接返回这句话的简要主题", "title"),
        # Chatbox
        (r"\ABased on the chat history, give this conversation a name", "title"),
        # Open WebUI, where it doesn't begin with the heading
        (r"\AYour task is to reflect the speaker's likely facial expression", "emoji"),
        (r"\AYou have been provided with a set of responses from various", "other"),
    )
)

_CHOOSING_TOOLS = compiled(r"(?s)\AAvailable Tools: .*choose and return the correct tool")
"""Open WebUI's, in a system message: what the person said is quoted in the message after it."""

_QUOTED, _QUOTED_ENDS = "<chat_history>", "</chat_history>"
_FIRST_WORDS = compiled(r"(?m)^(?:\|\|>)?(?:USER|User|用户) ?[:：] ?\n?(.+)$")
_EMPTY: dict[Job, str] = {
    "tags": json.dumps({"tags": []}),
    "follow_ups": json.dumps({"follow_ups": []}),
    "queries": json.dumps({"queries": []}),
    "autocompletion": json.dumps({"text": ""}),
    "image_prompt": json.dumps({"prompt": ""}),
    "tool_calls": json.dumps({"tool_calls": []}),
    "emoji": "💬",
}
"""What is true whatever was talked about: there is nothing to suggest."""
UNTITLED = Localised(zh="新对话", en="New chat")
NOT_DONE = Localised(zh="这里不做这类后台任务。", en="Jobs of this kind aren't done here.")


def answer(asked: Completion, headers: Mapping[str, str], locale: Locale) -> str | None:
    """What a job comes to; None where a person speaks."""
    prompt = asked.said.words.strip()
    job = _job(asked, headers, prompt)
    if job is None:
        return None
    if job == "title":
        title = _shortened(_first_words(asked.dialogue, prompt)) or UNTITLED.within(locale)
        as_json = isinstance(asked.response_format, ObjectFormat | SchemaFormat)
        in_json = as_json or _HAS_TITLE.search(prompt)
        return json.dumps({"title": title}, ensure_ascii=False) if in_json else title
    return _EMPTY.get(job) or NOT_DONE.within(locale)


def spoken(prompt: str) -> str:
    """What the person said: a UI that has found something in documents puts much before it.

    Documents say what they like, tags of the UI's included: only what stands after the last end
    of them is the person's. Nothing is where they should be and don't end.
    """
    before, ends, said = prompt.rpartition(_CONTEXT_ENDS)
    if not ends or _CONTEXT not in before:
        return "" if _ABOUT_DOCUMENTS.search(prompt) else prompt
    said = said.strip()
    if said.startswith(_QUERY) and said.endswith(_QUERY_ENDS):
        said = said.removeprefix(_QUERY).removesuffix(_QUERY_ENDS).strip()
    return said


def _job(asked: Completion, headers: Mapping[str, str], prompt: str) -> Job | None:
    """As a header names it, as a prompt is known by, or as a system message instructs."""
    given = (headers.get(name, "").strip().lower() for name in TASK_HEADERS)
    if named := next((_TASKS[name] for name in given if name in _TASKS), None):
        return named
    if not prompt.startswith(_OPENING):
        known = next((job for known, job in _PROMPTS if known.search(prompt)), None)
    elif _ABOUT_DOCUMENTS.search(prompt) and spoken(prompt):
        known = None
    else:
        known = next((job for shape, job in _SHAPES if shape.search(prompt)), "other")
    systems = (m.words.strip() for m in asked.messages if m.role in {"system", "developer"})
    if known is None and any(map(_CHOOSING_TOOLS.search, systems)):
        return "tool_calls"
    return known


def _first_words(dialogue: list[SpokenLine], prompt: str) -> str:
    """What the chat began with: as the prompt quotes it, or as it was said before the prompt."""
    quoted, ends, _ = prompt.partition(_QUOTED)[2].partition(_QUOTED_ENDS)
    found = _FIRST_WORDS.search(quoted.strip() if ends else prompt)
    if found is not None:
        return spoken(found[1])
    return next((line.text for line in dialogue[:-1] if line.role == "user"), "")


def _shortened(text: str) -> str:
    line = " ".join(plain_lines(text).strip().split("\n")[0].split()).strip("\"'“”「」")
    if len(line) <= LONGEST_TITLE:
        return line
    cut = line[:LONGEST_TITLE]
    whole = cut.rpartition(" ")[0]
    return f"{whole if len(whole) > LONGEST_TITLE // 2 else cut}…"
