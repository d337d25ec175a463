// What was said, by either side, as bubbles; and questions as what answers them.

import { button, element, pairs } from "./dom.js";
import { fileLink, fileList } from "./files.js";
import { answered, form } from "./forms.js";
import { rich } from "./markdown.js";
import { t } from "./texts.js";
import { clock } from "./times.js";
import { why } from "./why.js";
import { saidText } from "./words.js";

export function userBubble(text, { at, files }) {
  return element("li", { class: "user" }, files, text && element("p", {}, saidText(text)), at && time(at));
}

// What was said with files; of files alone the transcript has their names as its text.
export const wordsOf = ({ text, files = [] }) => (files.length && text === files.map(({ name }) => name).join(", ") ? "" : text);

const time = (at) => element("time", { datetime: at }, clock(at));

// `act(action, text)` answers what is asked; `said` is what the message was that this answers.
export function botBubble(item, { page, act, offer, said }) {
  const replies = item.replies?.length ? item.replies : [{ type: "text", text: item.text }];
  const asked = replies.flatMap((reply) => shown(reply, { page, act, offer }));
  if (item.author) asked.unshift(element("strong", { class: "author" }, item.author.name));
  const about = element("div", { class: "about" }, time(item.at), item.route && why(item.route, said, page));
  return element("li", { class: "bot" }, ...asked, about);
}

function shown(reply, on) {
  const text = reply.text ? [element("div", { class: "text" }, ...rich(reply.text, (path) => fileLink(path, on.page.trying)))] : [];
  const part = PARTS[reply.type]?.(reply, on);
  const skip = reply.skip && button(reply.skip.label, () => on.act({ type: "choose", value: reply.skip.value, question: reply.question }, reply.skip.label), { class: "choice skip-it" });
  if (!part && skip) return [...text, element("fieldset", { class: "answer", "aria-label": reply.text.split("\n")[0] }, skip)];
  if (!part) return text;
  const name = reply.text.split("\n")[0];
  const asked = element("fieldset", { class: `answer ${reply.type}`, "aria-label": name }, part, skip ?? "");
  return reply.type === "confirm" ? [asked] : [...text, asked];
}

const PARTS = { choices, confirm: confirmation, form: fields };

// The numbers are for keys; who hears the page hears the labels.
function choices(reply, { act }) {
  const pick = (option) => () => act({ type: "choose", value: option.value, question: reply.question }, option.label);
  const option = (one, index) => {
    const number = index < 9 ? element("kbd", { "aria-hidden": "true" }, String(index + 1)) : null;
    const made = button(one.label, pick(one), { class: "choice" });
    if (number) made.prepend(number);
    return made;
  };
  return element("div", { class: "options" }, ...reply.options.map(option));
}

function confirmation(reply, { act, page }) {
  const own = { true: reply.yes && `✓ ${reply.yes}`, false: reply.no && `✗ ${reply.no}` };
  const said = (value) => own[value] || t(value ? "saidYes" : "saidNo");
  const say = (value) => () => act({ type: "confirm", value, question: reply.question }, said(value));
  return element(
    "div",
    { class: "card" },
    ...rich(besides(reply), String),
    pairs(reply.summary),
    reply.files && fileList(reply.files, page, { read: true }),
    element("div", { class: "actions" }, button(reply.yes || t("yes"), say(true), { class: "primary" }), button(reply.no || t("no"), say(false))),
  );
}

const WORDS_BETWEEN = 24;

// The text without the lines that only say in a sentence what the summary lists below it. What is
// asked stays, whatever it names: a card with buttons and no question asks for blind trust.
export function besides({ text, summary }) {
  const listed = [...Object.values(summary).filter((value) => value.length > 1), ...Object.keys(summary)];
  const lines = text.trimEnd().split("\n");
  const repeats = (line, index) => {
    if (index === lines.length - 1 || /[?？]\s*$/.test(line)) return false;
    const rest = listed.reduce((left, part) => left.replaceAll(part, ""), line);
    return rest !== line && !line.includes("→") && (rest.match(/[\p{L}\p{N}]/gu) ?? []).length <= WORDS_BETWEEN;
  };
  return lines.filter((line, index) => !repeats(line, index)).join("\n");
}

function fields(reply, { page, act, offer }) {
  const send = (fill) =>
    page.trying(async () => {
      const action = await fill();
      await act(action, answered(reply, action));
    });
  return form(reply, send, offer);
}
