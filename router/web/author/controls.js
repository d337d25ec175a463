// Fields of a draft: each stands for a place in the file, edits it there, and says what is wrong with it.

import { button, element, freshId } from "../dom.js";
import { language } from "../texts.js";
import { valueAt, within } from "./draft.js";
import { t } from "./texts.js";

const TYPED = 400; // milliseconds without a key after which what was typed counts
const LANGUAGES = ["zh", "en"];

export const placed = (place) => JSON.stringify(place);

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// The fields of one form. `commit(edits, key)` has them made; edits of one `key` are one step back, and of none
// nothing becomes. `touched()` is called while somebody types.
export function fieldsOf(commit, touched) {
  const fields = [];

  // `read(data)` is what stands in the control, `write(value, data)` the edits that leave it there.
  function kept(place, control, { read, write, view, key = placed(place), typed = false }) {
    const error = element("p", { class: "error", id: freshId("error"), hidden: true });
    let data = null;
    let waits = null;
    const send = () => {
      clearTimeout(waits);
      waits = null;
      const { value } = control;
      if (data) commit((now) => (same(value, read(now)) ? [] : write(value, now)), key);
    };
    control.dataset.key = key;
    control.addEventListener("change", send);
    if (typed) control.addEventListener("input", (event) => {
      clearTimeout(waits);
      touched();
      if (!event.isComposing) waits = setTimeout(send, TYPED);
    });
    if (typed) control.addEventListener("compositionend", () => (waits = setTimeout(send, TYPED)));
    const update = (now) => {
      data = now;
      const stands = read(data);
      const isTyped = waits !== null || (typed && document.activeElement === control);
      if (!isTyped && !same(control.value, stands)) control.value = stands;
    };
    fields.push({ place, control, error, update });
    view.append(error);
    return view;
  }

  function text(label, place, { rows = 0, hint = null, code = false, required = false, list = null } = {}) {
    const control = rows ? element("textarea", { rows: String(rows) }) : element("input", { autocomplete: "off", list });
    if (code) control.classList.add("code"), control.setAttribute("spellcheck", "false");
    const read = (data) => String(valueAt(data, place) ?? "");
    const write = (value) => [value || required ? { op: "set", place, value } : { op: "remove", place }];
    return kept(place, control, { read, write, view: labelledBy(label, control, hint), typed: true });
  }

  function number(label, place, { hint = null, ...more } = {}) {
    const control = element("input", { type: "number", ...more });
    const read = (data) => String(valueAt(data, place) ?? "");
    const write = (value) => [value === "" ? { op: "remove", place } : { op: "set", place, value: Number(value) }];
    return kept(place, control, { read, write, view: labelledBy(label, control, hint), typed: true });
  }

  // A number that is a part of what stands at the place: `read(data)` takes it out, `set(value, data)` puts it in.
  function figure(label, place, { read, set, hint = null, key }) {
    const control = element("input", { type: "number", step: "any", inputmode: "decimal" });
    const write = (value, data) => (value === "" ? [] : set(value, data));
    return kept(place, control, { read, write, view: labelledBy(label, control, hint), key, typed: true });
  }

  // One text in both languages, the reader's first.
  function words(label, place, { rows = 0, hint = null, required = false } = {}) {
    const order = LANGUAGES.toSorted((one) => (one === language() ? -1 : 1));
    const each = order.map((locale) => {
      const at = [...place, locale];
      const control = rows ? element("textarea", { rows: String(rows), lang: locale }) : element("input", { autocomplete: "off", lang: locale });
      const read = (data) => String(valueAt(data, at) ?? "");
      const write = (value, data) => {
        const stands = valueAt(data, place);
        const isWhole = stands && typeof stands === "object";
        const other = LANGUAGES.find((one) => one !== locale);
        if (!value && !required && !stands?.[other]) return [{ op: "remove", place }];
        return [isWhole ? { op: "set", place: at, value } : { op: "set", place, value: { zh: "", en: "", [locale]: value } }];
      };
      return kept(at, control, { read, write, view: labelledBy(t(`in_${locale}`), control), typed: true });
    });
    return element("fieldset", { class: "words" }, element("legend", {}, label), hint && element("p", { class: "hint" }, hint), element("div", { class: "both" }, ...each));
  }

  // What it is called in the file; all that names it follows, by `rename(name)`.
  function name(label, place, rename) {
    const control = element("input", { autocomplete: "off", spellcheck: "false", class: "code", pattern: "[a-z][a-z0-9_]*" });
    const write = (value) => (control.checkValidity() && value ? rename(value) : control.reportValidity(), []);
    return kept(place, control, { read: () => place.at(-1), write, view: labelledBy(label, control, t("nameHint")), key: `${placed(place)}.name` });
  }

  // `options` are `[value, label]`; `set(value, data)` where choosing one does more than that.
  function choice(label, place, options, { none = null, set = null, read = null, hint = null, key } = {}) {
    const all = none === null ? options : [["", none], ...options];
    const control = element("select", {}, ...all.map(([value, name]) => element("option", { value }, name)));
    const stands = read ?? ((data) => String(valueAt(data, place) ?? ""));
    const reading = (data) => {
      const value = stands(data);
      // What the file has and nobody offers is offered as it is.
      if (value && ![...control.options].some((one) => one.value === value)) control.append(element("option", { value }, value));
      return value;
    };
    const write = set ?? ((value) => [value === "" ? { op: "remove", place } : { op: "set", place, value }]);
    return kept(place, control, { read: reading, write, view: labelledBy(label, control, hint), key });
  }

  // What is true or not; where it is as it would be without being said, it isn't said.
  function tick(label, place, { otherwise = false, hint = null } = {}) {
    const yesNo = [["true", t("yes")], ["false", t("no")]];
    const read = (data) => String(valueAt(data, place) ?? otherwise);
    const set = (value) => [(value === "true") === otherwise ? { op: "remove", place } : { op: "set", place, value: value === "true" }];
    return choice(label, place, yesNo, { read, set, hint });
  }

  // How long, as a number and what it counts.
  function span(label, place, { hint = null, required = false } = {}) {
    const control = element("input", { type: "number", min: "1", step: "1", inputmode: "numeric" });
    const unit = element("select", { "aria-label": `${label}: ${t("unit")}`, "data-key": `${placed(place)}.unit` }, ...UNITS.map(([value]) => element("option", { value }, t(`unit_${value}`))));
    const exact = element("input", { class: "code", "aria-label": `${label}: ISO 8601`, hidden: true });
    const read = (data) => spanOf(valueAt(data, place))?.[0] ?? "";
    const write = (value) => {
      if (!value) return required ? [] : [{ op: "remove", place }];
      return [{ op: "set", place, value: isoOf(value, unit.value) }];
    };
    const view = labelledBy(label, control, hint);
    view.append(element("div", { class: "span" }, control, unit, exact));
    unit.addEventListener("change", () => control.value && commit([{ op: "set", place, value: isoOf(control.value, unit.value) }], placed(place)));
    exact.addEventListener("change", () => commit([exact.value ? { op: "set", place, value: exact.value } : { op: "remove", place }], placed(place)));
    const made = kept(place, control, { read, write, view, typed: true });
    const field = fields.at(-1);
    const { update } = field;
    field.update = (data) => {
      const stands = valueAt(data, place);
      const known = spanOf(stands);
      control.hidden = unit.hidden = stands !== undefined && !known;
      exact.hidden = !control.hidden;
      if (known && document.activeElement !== unit) unit.value = known[1];
      if (!control.hidden) update(data);
      else if (document.activeElement !== exact) exact.value = String(stands);
    };
    return made;
  }

  // A list of sentences or patterns, one a line; only lines that are other are edited.
  function lines(label, place, { rows = 4, hint = null, code = false } = {}) {
    const control = element("textarea", { rows: String(rows) });
    if (code) control.classList.add("code"), control.setAttribute("spellcheck", "false");
    const listed = (data) => [valueAt(data, place) ?? []].flat().map(String);
    const read = (data) => listed(data).join("\n");
    const write = (value, data) => {
      const next = value.split("\n").map((one) => one.trim()).filter(Boolean);
      const stands = valueAt(data, place);
      if (!next.length) return stands === undefined ? [] : [{ op: "remove", place }];
      return Array.isArray(stands) ? listEdits(place, listed(data), next) : [{ op: "set", place, value: next }];
    };
    return kept(place, control, { read, write, view: labelledBy(label, control, hint ?? t("onePerLine")), typed: true });
  }

  // Some of `options` (`[value, label]`), in an order.
  function order(label, place, options, { hint = null, stands = [], add = t("add") } = {}) {
    const names = new Map(options);
    const key = placed(place);
    const row = (value, at) => {
      const called = names.get(value) ?? value;
      const up = button("↑", () => commit([{ op: "move", place: [...place, at], at: at - 1 }]), { class: "small", "aria-label": t("earlier", called), disabled: at === 0, "data-key": `${key}.${value}.up` });
      const down = button("↓", () => commit([{ op: "move", place: [...place, at], at: at + 1 }]), { class: "small", "aria-label": t("laterOn", called), disabled: at === stands.length - 1, "data-key": `${key}.${value}.down` });
      const out = button("×", () => commit([stands.length === 1 ? { op: "set", place, value: [] } : { op: "remove", place: [...place, at] }]), { class: "small", "aria-label": t("leaveOut", called) });
      return element("li", {}, element("span", {}, called), up, down, out);
    };
    const left = options.filter(([value]) => !stands.includes(value));
    const more = element("select", { "aria-label": `${label}: ${add}`, "data-key": `${key}.more` }, element("option", { value: "" }, add), ...left.map(([value, called]) => element("option", { value }, called)));
    more.addEventListener("change", () => more.value && commit([stands.length ? { op: "insert", place, at: stands.length, value: more.value } : { op: "set", place, value: [more.value] }]));
    const view = element("fieldset", { class: "order" }, element("legend", {}, label), hint && element("p", { class: "hint" }, hint), element("ol", {}, ...stands.map(row)), left.length ? more : null);
    const error = element("p", { class: "error", id: freshId("error"), hidden: true });
    view.append(error);
    fields.push({ place, control: more, error, update: () => {} });
    return view;
  }

  function update(data) {
    for (const field of fields) field.update(data);
  }

  // Each problem stands at the field whose place is nearest; those that found none are returned.
  function complain(problems) {
    const found = new Map();
    const left = [];
    for (const problem of problems) {
      const field = nearest(fields, problem.place);
      if (field) found.set(field, [...(found.get(field) ?? []), problem]);
      else left.push(problem);
    }
    for (const field of fields) {
      const wrong = found.get(field) ?? [];
      const said = wrong.map(({ what, remedy }) => [what, remedy].filter(Boolean).join(" — ")).join("\n");
      if (field.error.textContent !== said) field.error.textContent = said;
      field.error.hidden = wrong.length === 0;
      const hint = field.control.parentElement?.querySelector(":scope > .hint")?.id;
      const described = [hint, wrong.length && field.error.id].filter(Boolean).join(" ");
      attribute(field.control, "aria-invalid", wrong.length ? "true" : null);
      attribute(field.control, "aria-describedby", described || null);
    }
    return left;
  }

  const at = (place) => nearest(fields, place)?.control;

  return { name, text, number, figure, words, choice, tick, span, lines, order, update, complain, at };
}

// The field within whose place it is; of several the innermost.
function nearest(fields, place) {
  const around = fields.filter((field) => within(place.map(String), field.place.map(String)));
  return around.toSorted((one, other) => other.place.length - one.place.length)[0];
}

function attribute(control, name, value) {
  if (value === null) control.removeAttribute(name);
  else control.setAttribute(name, value);
}

function labelledBy(label, control, hint = null) {
  control.id = freshId("field");
  const said = hint && element("small", { class: "hint", id: freshId("hint") }, hint);
  if (said) control.setAttribute("aria-describedby", said.id);
  return element("div", { class: "field" }, element("label", { for: control.id }, label), said, control);
}

// What makes one list of texts of another, with as little as possible between.
export function listEdits(place, before, after) {
  let first = 0;
  while (first < before.length && before[first] === after[first]) first += 1;
  let last = 0;
  while (last < Math.min(before.length, after.length) - first && before.at(-1 - last) === after.at(-1 - last)) last += 1;
  const [gone, come] = [before.slice(first, before.length - last), after.slice(first, after.length - last)];
  const both = Math.min(gone.length, come.length);
  return [
    ...come.slice(0, both).map((value, n) => ({ op: "set", place: [...place, first + n], value })),
    ...come.slice(both).map((value, n) => ({ op: "insert", place, at: first + both + n, value })),
    ...gone.slice(both).map(() => ({ op: "remove", place: [...place, first + both] })),
  ];
}

const UNITS = [["minutes", "T", "M"], ["hours", "T", "H"], ["days", "", "D"], ["weeks", "", "W"]];

// `PT24H` as `["24", "hours"]`; null for what is made of several units.
export function spanOf(iso) {
  const [, time, count, letter] = /^P(T?)(\d+)([MHDW])$/.exec(iso ?? "") ?? [];
  const unit = UNITS.find(([, before, after]) => before === time && after === letter);
  return unit ? [count, unit[0]] : null;
}

export function isoOf(count, unit) {
  const [, before, after] = UNITS.find(([name]) => name === unit);
  return `P${before}${count}${after}`;
}
