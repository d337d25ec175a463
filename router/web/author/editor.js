// One draft at work: its picture, what is chosen in it, the YAML, a trial and its publication.

import { post, remove } from "../api.js";
import { button, element, freshId, labelled, twice } from "../dom.js";
import { language } from "../texts.js";
import { Problem } from "../wire.js";
import { fieldsOf } from "./controls.js";
import { differing } from "./difference.js";
import { draftOf, within } from "./draft.js";
import { aboutForm, aboutShape, triggersForm } from "./flow_form.js";
import { picture } from "./picture.js";
import { publication } from "./publication.js";
import { freshName, slotCalled, slotForm, slotShape } from "./slot_form.js";
import { source } from "./source.js";
import { begun, besides, called, kindLabel, mainWay, stateForm, stateShape } from "./state_form.js";
import { submission } from "./submission.js";
import { either, t } from "./texts.js";
import { trial } from "./trial.js";
import { branchesOf } from "./ways.js";

const LOOKS_EVERY = 20_000; // milliseconds between looks at who else works on it

export function editor(shown, { page, vocabulary, flows, part, left }) {
  let chosen = { kind: "about" };
  let form = null;
  let shape = null;
  let outlined = null;
  let looked = Date.now();

  const state = element("p", { class: "standing", role: "status" });
  const others = element("p", { class: "notice", role: "status" });
  const behind = element("div", { class: "notice", hidden: true });
  const onward = element("div", { class: "notice", hidden: true });
  const refusal = element("p", { class: "error", role: "alert" });
  const body = element("div", { class: "form" });
  const heading = element("h2", { tabindex: "-1" });
  const general = element("ul", { class: "problems", "aria-label": t("problems") });
  const edit = element("section", { class: "edit" }, heading, general, body);
  const drawing = picture((name) => choose({ kind: "state", name }, true));
  const draft = draftOf(shown, { changed: paint, told: tell, minding: page.minding });
  const yaml = source(draft);
  const playing = trial(draft, { page, vocabulary });
  const published = publication(shown.flow, { page, holds: () => draft.base.source !== "draft", isDrafted: () => draft.isSaved, restored });
  const submitting = submission(draft, { page, submitted: published.load });
  const publishing = element("section", {}, submitting.view, published.view);
  const zoom = button(t("zoom"), () => zoom.setAttribute("aria-pressed", String(drawing.view.classList.toggle("full"))), { "aria-pressed": "false" });
  const outline = element("nav", { class: "outline", "aria-label": t("outline") });
  const undo = button(t("undo"), draft.undo, { "aria-keyshortcuts": "Control+Z" });
  const redo = button(t("redo"), draft.redo, { "aria-keyshortcuts": "Control+Y" });
  const title = element("h1", { tabindex: "-1" });
  const count = element("p", { class: "count-problems", role: "status" });

  const parts = { edit: [t("edit"), edit], yaml: [t("yaml"), yaml.view], trial: [t("tryIt"), playing.view], publication: [t("publish"), publishing] };
  const tabs = tabbed(parts, opened);
  const panel = element("div", { class: "panel" }, tabs.view, ...Object.values(parts).map(([, view]) => view));
  const view = element(
    "section",
    { class: "sheet author", onkeydown: key },
    element("header", { class: "bar" }, element("a", { href: "#/flows" }, t("allFlows")), title, element("div", { class: "actions" }, undo, redo, more()), state),
    others,
    onward,
    behind,
    count,
    refusal,
    element("div", { class: "bench" }, element("div", { class: "map" }, drawing.view, element("div", { class: "actions" }, zoom), outline), panel),
  );

  async function commit(edits, key) {
    refusal.textContent = "";
    try {
      const look = await draft.edit(edits, key);
      refusal.textContent = (look ?? []).map(({ line, what, remedy }) => t("lookAtLine", line, what, remedy)).join("\n");
      return look;
    } catch (problem) {
      if (!(problem instanceof Problem) || ![400, 409, 422].includes(problem.status)) return page.minding(() => Promise.reject(problem));
      refusal.textContent = [problem.message, ...problem.errors.map((one) => one.detail ?? one.message ?? "")].filter(Boolean).join(" ");
      repaint();
      return undefined;
    }
  }

  function choose(next, focus = false) {
    chosen = next;
    shape = null;
    if (tabs.current() !== "edit") tabs.open("edit");
    paint();
    if (next.kind === "state") drawing.stand(next.name);
    if (focus) heading.focus();
    if (focus) edit.scrollIntoView({ block: "nearest" });
  }

  // What can't be read has no forms: the YAML is where that is put right.
  function paint() {
    const { data, problems } = draft.examination;
    title.textContent = data?.title?.[language()] || draft.flow;
    drawing.show(draft.examination, chosen.kind === "state" ? chosen.name : null);
    undo.disabled = !draft.undoes;
    redo.disabled = !draft.redoes;
    count.textContent = problems.length ? t("problemCount", problems.length) : t("noProblems");
    count.classList.toggle("wrong", problems.length > 0);
    yaml.update();
    playing.update();
    submitting.update();
    tell();
    body.inert = data === null;
    if (data === null) return list(problems);
    if (!FORMS[chosen.kind].shape(data, chosen.name)) chosen = { kind: "about" };
    draw(data);
    const now = FORMS[chosen.kind].shape(data, chosen.name);
    if (now !== shape) build(data, now);
    form.update(data);
    return list(form.complain(problems), form);
  }

  const repaint = () => ((shape = null), paint());

  const FORMS = {
    about: { shape: () => "about", build: (form_) => aboutForm(form_), called: () => t("about") },
    triggers: { shape: (data) => aboutShape(data, "triggers"), build: (form_, name, data) => triggersForm(form_, name, data, { vocabulary, impact: impact() }), called: () => t("triggers") },
    state: { shape: (data, name) => stateShape(data, name, vocabulary), build: (form_, name, data) => stateForm(form_, name, data, { vocabulary, people: page.people(), commit, choose, flows }), called: (data, name) => called(data, name, vocabulary) },
    slot: { shape: slotShape, build: (form_, name, data) => slotForm(form_, name, data, { vocabulary, commit, choose }), called: (data, name) => slotCalled(name, data.slots[name]) },
  };

  // The field that has the focus has it still when the form is made anew.
  function build(data, now) {
    const held = body.contains(document.activeElement) ? document.activeElement : null;
    const { selectionStart, selectionEnd } = held ?? {};
    shape = now;
    form = fieldsOf(commit, draft.touched);
    const made = FORMS[chosen.kind].build(form, chosen.name, data).flat().filter(Boolean);
    heading.textContent = FORMS[chosen.kind].called(data, chosen.name);
    body.replaceChildren(...made);
    if (!held) return;
    const again = held.dataset.key && body.querySelector(`[data-key="${CSS.escape(held.dataset.key)}"]`);
    (again ?? heading).focus();
    if (again?.setSelectionRange && typeof selectionStart === "number" && again.type !== "number") {
      if (held.value !== undefined && held.matches("input, textarea")) again.value = held.value;
      again.setSelectionRange(selectionStart, selectionEnd);
    }
  }

  // What stands at no field here: with a way to where it is.
  function list(problems) {
    const known = problems.filter(({ place }) => here(place));
    const elsewhere = problems.filter(({ place }) => !here(place));
    const said = ({ what, remedy }) => [what, remedy].filter(Boolean).join(" — ");
    const row = (problem) => element("li", {}, `! ${said(problem)}`);
    const away = (problem) => element("li", {}, "! ", button(whose(problem.place), () => choose(target(problem.place), true), { class: "link" }), ` ${said(problem)}`);
    const remarks = draft.examination.remarks.filter(({ place }) => here(place)).map((one) => element("li", { class: "remark" }, said(one)));
    general.replaceChildren(...known.map(row), ...elsewhere.map(away), ...remarks);
  }

  const here = (place) => (chosen.kind === "state" && within(place, ["states", chosen.name])) || (chosen.kind === "slot" && within(place, ["slots", chosen.name])) || (chosen.kind === "triggers" && place[0] === "triggers") || (chosen.kind === "about" && !["states", "slots", "triggers"].includes(place[0]));

  function target([first, name]) {
    const { data } = draft;
    if (first === "states" && data?.states?.[name]) return { kind: "state", name };
    if (first === "slots" && data?.slots?.[name]) return { kind: "slot", name };
    return { kind: first === "triggers" ? "triggers" : "about" };
  }

  const whose = (place) => `${place[1] ?? place[0] ?? draft.flow}:`;

  // Everything there is, in lists: for keys, for small screens, and for what no way leads to.
  function draw(data) {
    const bad = new Set(draft.examination.problems.map(({ place }) => `${place[0]}.${place[1]}`));
    const item = (kind, name, words, folder) => element("li", {}, button(bad.has(`${folder}.${name}`) ? `! ${words}` : words, () => choose({ kind, name }, true), { class: "item", "data-key": `${kind}.${name}`, "aria-current": chosen.kind === kind && chosen.name === name ? "true" : null }));
    const states = Object.keys(data.states ?? {}).map((name) => item("state", name, called(data, name, vocabulary), "states"));
    const slots = Object.entries(data.slots ?? {}).map(([name, slot]) => item("slot", name, slotCalled(name, slot), "slots"));
    const stands = JSON.stringify([chosen, ...[...states, ...slots].map((one) => one.textContent)]);
    if (stands === outlined) return; // somebody may be adding something there
    outlined = stands;
    const held = outline.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    outline.replaceChildren(
      element("ul", {}, item("about", undefined, t("about")), item("triggers", undefined, t("triggers"))),
      element("h2", {}, t("steps")),
      element("ul", {}, ...states),
      addState(data),
      element("h2", {}, t("slots")),
      element("ul", {}, ...slots),
      addSlot(data),
    );
    if (held) outline.querySelector(`[data-key="${CSS.escape(held)}"]`)?.focus();
  }

  function addState(data) {
    const names = Object.keys(data.states ?? {});
    const kind = element("select", {}, ...vocabulary.kinds.map((one) => element("option", { value: one.kind }, kindLabel(vocabulary, one.kind))));
    const name = element("input", { class: "code", pattern: "[a-z][a-z0-9_]*", required: true, value: freshName("step", names), autocomplete: "off" });
    const after = element("select", {}, element("option", { value: "" }, t("nowhere")), ...names.map((one) => element("option", { value: one }, called(data, one, vocabulary))));
    after.value = chosen.kind === "state" ? chosen.name : (names.find((one) => data.states[one]?.end === undefined) ?? "");
    const onsubmit = async (event) => {
      event.preventDefault();
      const made = await commit(placing(data, { kind: kind.value, name: name.value, after: after.value }));
      if (draft.data?.states?.[name.value]) choose({ kind: "state", name: name.value }, true);
      return made;
    };
    const made = element("form", { class: "adding", onsubmit }, labelled(t("does"), kind), labelled(t("nameInFile"), name), labelled(t("comesAfter"), after), button(t("addIt"), null, { type: "submit", class: "primary" }));
    return element("details", {}, element("summary", { "data-key": "state.add" }, t("addState")), made);
  }

  function placing(data, { kind, name, after }) {
    const before = data.states?.[after];
    const way = before && mainWay(before, vocabulary);
    const branches = before ? branchesOf(before[way]) : [];
    const next = branches.at(-1)?.to ?? Object.keys(data.states ?? {}).find((one) => data.states[one]?.end === "completed") ?? null;
    const at = after ? Object.keys(data.states).indexOf(after) + 1 : Object.keys(data.states ?? {}).length;
    const value = begun(kind, data, { next: next ?? name, vocabulary });
    const led = !before || before.end !== undefined ? [] : [branches.length > 1 ? { op: "set", place: ["states", after, way, branches.length - 1, "to"], value: name } : { op: "set", place: ["states", after, way], value: name }];
    return [...besides(kind, data), { op: "insert", place: ["states"], at, key: name, value }, ...led];
  }

  function addSlot(data) {
    const names = Object.keys(data.slots ?? {});
    const type = element("select", {}, ...vocabulary.slot_types.map((one) => element("option", { value: one.type }, either(one.label))));
    const name = element("input", { class: "code", pattern: "[a-z][a-z0-9_]*", required: true, value: freshName("slot", names), autocomplete: "off" });
    const onsubmit = async (event) => {
      event.preventDefault();
      const collects = Object.keys(data.states ?? {}).find((one) => Array.isArray(data.states[one]?.collect));
      const value = { type: type.value, ...slotBegins(type.value), label: { zh: "", en: "" }, ask: { zh: "", en: "" } };
      const put = data.slots ? [{ op: "insert", place: ["slots"], at: names.length, key: name.value, value }] : [{ op: "set", place: ["slots"], value: { [name.value]: value } }];
      const collected = collects ? [{ op: "insert", place: ["states", collects, "collect"], at: data.states[collects].collect.length, value: name.value }] : [];
      await commit([...put, ...collected]);
      if (draft.data?.slots?.[name.value]) choose({ kind: "slot", name: name.value }, true);
    };
    const made = element("form", { class: "adding", onsubmit }, labelled(t("slotType"), type), labelled(t("nameInFile"), name), button(t("addIt"), null, { type: "submit", class: "primary" }));
    return element("details", {}, element("summary", { "data-key": "slot.add" }, t("addSlot")), made);
  }

  const slotBegins = (type) => ({ choice: { choices: { one: { label: { zh: "一", en: "one" } } } }, list: { of: { type: "text" } }, object: { fields: { note: { type: "text", label: { zh: "说明", en: "Note" } } } } })[type] ?? {};

  // Which sentences would be taken otherwise than now.
  function impact() {
    const found = element("div", { role: "status" });
    const ask = async () => {
      const { checked, changed } = await post("/v1/flow-drafts/impact", { flow: draft.flow, text: draft.text });
      const row = (one) => element("li", {}, `“${one.text}”: ${one.before || t("nothing")} ▸ ${one.after || t("nothing")}`);
      found.replaceChildren(element("p", {}, t("impactFound", checked, changed.length)), element("ul", {}, ...changed.map(row)));
    };
    return element("section", {}, element("h3", {}, t("impact")), button(t("findImpact"), () => page.trying(ask)), found);
  }

  async function restored({ document, version }) {
    await draft.restore(document);
    page.say(t("draftRestored", version ?? "–"));
  }

  async function goOn() {
    try {
      await draft.goOn();
    } catch (problem) {
      await draft.look();
      throw problem;
    }
    page.say(t("wentOn"));
  }

  function tell() {
    state.textContent = t(`standing_${draft.standing}`);
    state.dataset.standing = draft.standing;
    const names = draft.others.map(({ author }) => page.nameOf(author));
    others.hidden = !names.length;
    choices(onward, draft.outdated && draft.holds.digest, () => ["held", t("outdated"), button(t("goOnFromHere"), () => page.trying(goOn))]);
    others.textContent = names.length ? t("othersWork", names.join(language() === "zh" ? "、" : ", ")) : "";
    choices(behind, draft.standing === "behind" && "behind", () => ["draft", t("behind"), button(t("takeTheirs"), () => page.trying(() => draft.settle(false))), button(t("keepMine"), () => page.trying(() => draft.settle(true)))]);
  }

  // What there is to choose between two texts, with the other one to be looked at first; made anew for another `about`.
  function choices(place, about, made) {
    if (place.dataset.about === String(about)) return;
    place.dataset.about = about;
    place.hidden = !about;
    if (!about) return place.replaceChildren();
    const [over, said, ...acts] = made();
    const found = element("div", { "aria-live": "polite" });
    const look = () => page.trying(async () => found.replaceChildren(element("p", {}, t(`against_${over}`)), differing(await draft.differs(over))));
    return place.replaceChildren(element("p", {}, said), element("div", { class: "actions" }, button(t("lookFirst"), look), ...acts), found);
  }

  function more() {
    const discard = async () => {
      await draft.close();
      await remove(`/v1/flow-drafts/${encodeURIComponent(draft.flow)}`);
      page.say(t("discarded"));
      left();
    };
    return twice(t("discard"), t("reallyDiscard"), { yes: t("discard"), no: t("neverMind") }, () => page.trying(discard), { class: "danger" });
  }

  // Where somebody types, the browser's own undo is meant.
  function key(event) {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.matches("input, textarea")) return;
    const pressed = event.key.toLowerCase();
    if (pressed === "z" || pressed === "y") {
      event.preventDefault();
      (pressed === "y" || event.shiftKey ? draft.redo : draft.undo)();
    }
  }

  function opened(name) {
    history.replaceState(null, "", `#/flows/${encodeURIComponent(draft.flow)}${name === "edit" ? "" : `/${name}`}`);
    if (name === "publication") page.trying(published.load);
    if (name === "yaml") yaml.update();
    if (name === "trial") playing.opened();
  }

  async function refresh() {
    if (Date.now() - looked < LOOKS_EVERY) return;
    looked = Date.now();
    await draft.look();
  }

  paint();
  tabs.open(Object.hasOwn(parts, part) ? part : "edit");
  return { view, flow: draft.flow, refresh, open: (name) => tabs.open(Object.hasOwn(parts, name) ? name : "edit"), close: draft.close };
}

// One part at a time; Left and Right go from tab to tab.
function tabbed(parts, opened) {
  const names = Object.keys(parts);
  let current = null;
  const tabs = names.map((name) => {
    const [label, view] = parts[name];
    view.id = freshId("part");
    view.setAttribute("role", "tabpanel");
    const tab = button(label, () => open(name), { role: "tab", id: freshId("tab"), "aria-controls": view.id });
    view.setAttribute("aria-labelledby", tab.id);
    return tab;
  });
  const view = element("div", { class: "tabs", role: "tablist", "aria-label": t("parts"), onkeydown: key }, ...tabs);

  function key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const to = (names.indexOf(current) + step + names.length) % names.length;
    event.preventDefault();
    open(names[to]);
    tabs[to].focus();
  }

  function open(name) {
    if (name === current) return;
    current = name;
    names.forEach((one, n) => {
      parts[one][1].hidden = one !== name;
      tabs[n].setAttribute("aria-selected", String(one === name));
      tabs[n].tabIndex = one === name ? 0 : -1;
    });
    opened(name);
  }

  return { view, open, current: () => current };
}

