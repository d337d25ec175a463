// A new flow: from nothing, from the gallery, from a file that says how it goes, or from a paragraph.
// Whatever it begins with, it is a draft, with what is still open said.

import { get, post, put, upload } from "../api.js";
import { button, element, freshId, labelled, unfolding } from "../dom.js";
import { language } from "../texts.js";
import { fresh as freshKey } from "../wire.js";
import { t } from "./texts.js";

const NAME = "[a-z][a-z0-9_]{0,63}";
const FILES = ".bpmn,.xml,.xlsx,.docx";
const LONGEST = 4000; // characters of a paragraph

// `made(name)` is called once there is a draft of that name.
export function beginnings(page, made) {
  const group = freshId("beginning");
  const shown = element("div", {});
  const imports = page.has("importers") ? [["file", file], ["paragraph", paragraph]] : [];
  const ways = [["nothing", nothing], ["gallery", gallery], ...imports];
  const choose = async (form) => shown.replaceChildren(...[await form(page, made)].flat().filter(Boolean));
  const radio = ([name, form], number) => {
    const input = element("input", { type: "radio", name: group, value: name, checked: number === 0, onchange: () => page.trying(() => choose(form)) });
    return element("label", {}, input, t(`begin_${name}`));
  };
  const fill = async () => {
    await choose(nothing);
    return [element("fieldset", { class: "begin-with" }, element("legend", {}, t("beginWith")), ...ways.map(radio)), shown];
  };
  return unfolding(t("newFlow"), () => page.trying(fill), { class: "new-flow" });
}

const keep = (name, text, stories = "") => put(`/v1/flow-drafts/${encodeURIComponent(name)}`, { text, stories, revision: 0 });

// A name, what it is called, and one state that asks.
function nothing(page, made) {
  const name = nameField();
  const titles = { zh: element("input", { required: true, lang: "zh" }), en: element("input", { required: true, lang: "en" }) };
  const onsubmit = sending(page, async () => {
    await keep(name.input.value, fresh(name.input.value, titles.zh.value, titles.en.value));
    made(name.input.value);
  });
  const order = language() === "zh" ? ["zh", "en"] : ["en", "zh"];
  const fields = order.map((locale) => labelled(t(`title_${locale}`), titles[locale]));
  return element("form", { class: "begin-flow", onsubmit }, name.field, ...fields, begins());
}

// What companies have: its picture, and a draft of it with its stories.
async function gallery(page, made) {
  const { items } = await get("/v1/flow-gallery");
  const option = (one) => element("option", { value: one.flow }, one.title);
  const select = element("select", {}, ...items.map(option));
  const about = element("p", { class: "hint" });
  const tell = () => (about.textContent = items.find(({ flow }) => flow === select.value)?.description ?? "");
  select.onchange = tell;
  tell();
  const onsubmit = sending(page, async () => {
    const { text, stories } = await get(`/v1/flow-gallery/${encodeURIComponent(select.value)}`);
    await keep(select.value, text, stories);
    made(select.value);
  });
  return element("form", { class: "begin-flow", onsubmit }, labelled(t("process"), select), about, element("p", { class: "hint" }, t("galleryTools")), begins());
}

// A process drawn elsewhere, or a form that people fill in today.
function file(page, made) {
  const input = element("input", { type: "file", accept: FILES, required: true });
  const key = freshKey();
  return asking(page, made, labelled(t("beginFile"), input), () => upload("/v1/flow-drafts/beginnings", input.files[0], `${key}-${input.files[0].name}`.slice(0, 64)));
}

function paragraph(page, made) {
  const input = element("textarea", { required: true, rows: "5", maxlength: String(LONGEST) });
  const body = () => {
    const form = new FormData();
    form.append("paragraph", input.value);
    return form;
  };
  return asking(page, made, labelled(t("beginWords"), input), () => post("/v1/flow-drafts/beginnings", body()));
}

// What was made of it is looked at first: what is open, and what had no place in a flow.
function asking(page, made, field, ask) {
  const answer = element("div", { role: "status" });
  const list = (title, rows) => (rows.length ? [element("h3", {}, title), element("ul", {}, ...rows.map((row) => element("li", {}, row)))] : []);
  const onsubmit = sending(page, async () => {
    const found = await ask();
    const name = nameField(found.flow);
    const take = sending(page, async () => {
      await keep(name.input.value, found.text.replace(/^flow: .*$/m, () => `flow: ${name.input.value}`));
      made(name.input.value);
    });
    const lost = found.unmapped.map(({ what, where }) => [what, where].filter(Boolean).join(" — "));
    const begun = element("form", { class: "begin-flow", onsubmit: take }, name.field, begins());
    answer.replaceChildren(...list(t("openQuestions"), found.questions.map(({ what }) => what)), ...list(t("hasNoPlace"), lost), begun);
  });
  return [element("form", { class: "begin-flow", onsubmit }, field, button(t("readIt"), null, { type: "submit" })), answer];
}

function nameField(value = "") {
  const input = element("input", { class: "code", required: true, pattern: NAME, autocomplete: "off", spellcheck: "false", value });
  const hint = element("small", { class: "hint", id: freshId("hint") }, t("nameHint"));
  input.setAttribute("aria-describedby", hint.id);
  const field = labelled(t("flowName"), input);
  field.append(hint);
  return { input, field };
}

const begins = () => button(t("beginFlow"), null, { type: "submit", class: "primary" });

const sending = (page, act) => (event) => {
  event.preventDefault();
  return page.trying(act);
};

// The file that a flow begins with: it asks one thing, confirms it, and ends.
function fresh(name, zh, en) {
  const both = (one, other) => `{zh: ${JSON.stringify(one)}, en: ${JSON.stringify(other)}}`;
  const said = (key) => both(t.in("zh", key), t.in("en", key));
  return [
    `flow: ${name}`,
    "version: 1",
    `title: ${both(zh, en)}`,
    `description: ${both(zh, en)}`,
    "triggers:",
    `  examples: [${JSON.stringify(zh)}, ${JSON.stringify(en)}]`,
    "  roles: [employee]",
    "slots:",
    "  reason:",
    "    type: text",
    `    label: ${said("firstLabel")}`,
    `    ask: ${said("firstAsk")}`,
    "start: details",
    "states:",
    "  details:",
    "    collect: [reason]",
    "    next: review",
    "  review:",
    `    confirm: ${said("confirmText")}`,
    "    confirmed: done",
    "    declined: details",
    "  done:",
    `    say: ${said("sayText")}`,
    "    end: completed",
    "",
  ].join("\n");
}
