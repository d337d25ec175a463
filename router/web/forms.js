// A form reply as input fields, and what was typed as the values that flows take.

import { button, element, freshId } from "./dom.js";
import { inputOf, valueOf } from "./fields.js";
import { KINDS, refusal, sending } from "./files.js";
import { t } from "./texts.js";

// `answer` is given a function that fills the action in: files are sent first, which takes a while.
// `offer` gets the inputs that take a file.
export function form(reply, answer, offer) {
  const fields = reply.fields.map(input);
  const submit = button(t("submit"), null, { type: "submit", class: "primary" });
  const onsubmit = (event) => {
    event.preventDefault();
    const wrong = fields.filter((one) => !one.check());
    if (wrong.length) return wrong[0].control.focus();
    return answer(() => filling(submit, reply, fields));
  };
  const view = element("form", { class: "card", onsubmit, novalidate: true }, ...fields.map((one) => one.view), submit);
  // Once it is on the page: what is nowhere takes no file.
  queueMicrotask(() => fields.filter((one) => one.field.type === "file").forEach((one) => offer(one.control)));
  return view;
}

async function filling(submit, reply, fields) {
  submit.disabled = true;
  try {
    const given = fields.filter(({ control }) => control.value !== "");
    const values = await Promise.all(given.map(async ({ field, value }) => [field.name, await value()]));
    return { type: "form", values: Object.fromEntries(values), question: reply.question };
  } finally {
    submit.disabled = false;
  }
}

// What was answered, as a person reads it.
export function answered(reply, action) {
  const shown = (field, value) => {
    const option = optionsOf(field)?.find((one) => JSON.stringify(one.value) === JSON.stringify(value));
    if (option) return option.label;
    return typeof value === "object" ? (value.name ?? Object.values(value).join(" ")) : String(value);
  };
  return reply.fields
    .filter((field) => Object.hasOwn(action.values, field.name))
    .map((field) => `${field.label}: ${shown(field, action.values[field.name])}`)
    .join("\n");
}

// An input with its label, what is in it as the value that a flow takes, and what is wrong with it.
function input(field) {
  const required = field.required !== false;
  const control = controlOf(field, required);
  const error = element("p", { class: "error", id: freshId("error"), hidden: true });
  control.id = freshId("field");
  const check = () => {
    const wrong = problem(field, control);
    error.textContent = wrong ?? "";
    error.hidden = wrong === null;
    control.toggleAttribute("aria-invalid", wrong !== null);
    if (wrong === null) control.removeAttribute("aria-describedby");
    else control.setAttribute("aria-describedby", error.id);
    return wrong === null;
  };
  control.addEventListener("change", check);
  const label = element("label", { for: control.id }, field.label, required ? null : element("small", {}, ` (${t("optional")})`));
  const value = field.type === "file" ? sending(control) : () => valueOf(field, control.value, Boolean(optionsOf(field)));
  return { field, control, value, check, view: element("div", { class: "field" }, label, control, error) };
}

function problem(field, control) {
  if (control.validity.valueMissing) return t("required", field.label);
  if (!control.validity.valid) return t("unfit", field.label);
  return control.files?.length ? refusal(control.files[0]) : null;
}

function controlOf(field, required) {
  const options = optionsOf(field);
  if (options) return select(options, required);
  if (field.type === "text") return element("textarea", { rows: "2", required });
  return element("input", { ...inputOf(field), accept: field.type === "file" ? KINDS : null, required, autocomplete: "off" });
}

const optionsOf = (field) => (field.type === "boolean" ? yesOrNo() : field.options);

const yesOrNo = () => [
  { label: t("yes"), value: true },
  { label: t("no"), value: false },
];

function select(options, required) {
  const nothing = element("option", { value: "" }, t("choose"));
  const items = options.map((option) => element("option", { value: JSON.stringify(option.value) }, option.label));
  return element("select", { required }, nothing, ...items);
}
