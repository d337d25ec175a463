// The conversation on the screen: what was said, what is on its way, and what is being written.

import { element, iconButton } from "./dom.js";
import { writing } from "./events.js";
import { fileList } from "./files.js";
import { botBubble, userBubble, wordsOf } from "./replies.js";
import { t } from "./texts.js";
import { day } from "./times.js";
import { work } from "./work.js";

const NEAR = 120; // pixels from the end, within which it is followed

export function transcript(page, { act, offer }) {
  const log = element("ol", { class: "log" });
  const scroller = element("div", { class: "scroller", role: "log", "aria-live": "off", "aria-label": t("transcript"), tabindex: "0", onscroll: look }, log);
  const down = iconButton("down", t("toLatest"), () => toLatest(), { class: "icon to-latest", hidden: true });
  const pending = new Map(); // message id to the bubble of what was sent
  const drafts = new Map(); // message id to what is being done and written
  const answered = new Set(); // message ids whose answers are here
  const said = new Map(); // message id to its text
  let lastDay = "";
  let labels = new Map(); // of the last form's fields, by name

  function append(item, isNews) {
    const follows = atEnd();
    separate(item.at);
    if (item.role === "user") user(item);
    else bot(item);
    if (follows) toLatest();
    else if (isNews) down.toggleAttribute("data-news", true);
    if (isNews && item.role !== "user") page.say(item.text);
  }

  function separate(at) {
    if (day(at) !== lastDay) place(element("li", { class: "day" }, day(at)));
    lastDay = day(at);
  }

  function user(item) {
    pending.get(item.message_id)?.remove();
    pending.delete(item.message_id);
    const words = wordsOf(item);
    if (item.message_id) said.set(item.message_id, words);
    place(userBubble(labelled(words), { at: item.at, files: filesOf(item) }));
  }

  const filesOf = ({ files }) => files && fileList(Object.fromEntries(files.map(({ id, name }) => [id, name])), page);

  // What a form was filled in with is kept by the names of its fields, which nobody reads.
  function labelled(text) {
    const named = (line) => line.replace(/^([^:\s]+): /, (all, name) => (labels.has(name) ? `${labels.get(name)}: ` : all));
    return text.split("\n").map(named).join("\n");
  }

  function bot(item) {
    const fields = item.replies?.flatMap((reply) => reply.fields ?? []) ?? [];
    labels = new Map(fields.map((field) => [field.name, field.label]));
    const worked = ended(item.message_id);
    retire();
    const bubble = botBubble(item, { page, act, offer, said: said.get(item.message_id) });
    if (worked) bubble.prepend(worked);
    place(bubble);
  }

  // Before whatever is still on its way.
  function place(bubble) {
    const waiting = log.querySelector(":scope > .pending");
    if (waiting) waiting.before(bubble);
    else log.append(bubble);
  }

  // Only the last question can still be answered by its buttons.
  function retire() {
    for (const part of log.querySelectorAll("fieldset.answer")) part.disabled = true;
  }

  function sent({ id, text, attached = [] }) {
    if (pending.has(id) || said.has(id)) return;
    const names = attached.map((name) => element("li", {}, name));
    const bubble = userBubble(text, { files: names.length ? element("ul", { class: "files" }, ...names) : null });
    bubble.classList.add("pending");
    pending.set(id, bubble);
    retire();
    log.append(bubble);
    draft(id);
    toLatest();
  }

  // It wasn't taken: as if it had never been said.
  function refused(id) {
    pending.get(id)?.remove();
    pending.delete(id);
    ended(id);
  }

  // What is done for a message, and its text as a model writes it. The text is read out only when
  // it is finished: until then it may still be begun anew.
  function heed(name, data) {
    const id = data.message_id;
    if (!id || answered.has(id)) return;
    const follows = atEnd();
    const { worked, text, written } = draft(id);
    if (name === "text_delta") text.textContent = written(data);
    else worked.heed(name, data);
    if (follows) toLatest();
  }

  function draft(id) {
    if (!drafts.has(id)) {
      const text = element("div", { class: "text", "aria-hidden": "true" });
      const worked = work((name) => page.titleOf(name) ?? name);
      const bubble = element("li", { class: "bot pending" }, worked.view, text);
      drafts.set(id, { bubble, text, worked, written: writing() });
      const after = pending.get(id);
      if (after) after.after(bubble);
      else log.append(bubble);
    }
    return drafts.get(id);
  }

  // Nothing more is written for this message; what was done for it, where that is anything.
  function ended(id) {
    if (id) answered.add(id);
    const gone = drafts.get(id);
    gone?.bubble.remove();
    drafts.delete(id);
    return gone?.worked.ended() ?? null;
  }

  const atEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < NEAR;

  function look() {
    down.hidden = atEnd();
    if (atEnd()) down.removeAttribute("data-news");
  }

  function toLatest() {
    scroller.scrollTop = scroller.scrollHeight;
    look();
  }

  function clear() {
    for (const { worked } of drafts.values()) worked.stop();
    for (const kept of [pending, drafts, answered, said]) kept.clear();
    lastDay = "";
    log.replaceChildren();
    look();
  }

  return {
    view: element("div", { class: "scroll" }, scroller, down),
    log,
    append,
    sent,
    refused,
    ended,
    heed,
    clear,
    toLatest,
    busy: () => drafts.size > 0,
  };
}
