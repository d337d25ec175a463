// Elements from data. Text only ever becomes a text node, so that nothing a person typed is markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(name, value);
    else if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, label);
}

// A button that shows a picture and says its name to those who don't see it.
export function iconButton(name, label, onclick, attributes = {}) {
  const named = { "aria-label": label, title: label, class: "icon", ...attributes };
  return element("button", { type: "button", onclick, ...named }, icon(name));
}

// A part of a picture; `element` makes those of the page.
export function drawn(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function pairs(summary) {
  const rows = Object.entries(summary).map(([label, value]) =>
    element("div", {}, element("dt", {}, label), element("dd", {}, value instanceof Node ? value : String(value))),
  );
  return element("dl", {}, ...rows);
}

let ids = 0;
export const freshId = (prefix) => `${prefix}-${++ids}`;

export function labelled(label, input, attributes = {}) {
  input.id = freshId("field");
  return element("div", { class: "field", ...attributes }, element("label", { for: input.id }, label), input);
}

// A closed part that is filled when it is first opened.
export function unfolding(title, fill, attributes = {}) {
  const body = element("div", { class: "unfolded" });
  const ontoggle = async () => {
    if (!view.open) return;
    if (!body.childElementCount) body.append(...[await fill()].flat());
    view.scrollIntoView({ block: "nearest" });
  };
  const view = element("details", { ontoggle, ...attributes }, element("summary", {}, title), body);
  return view;
}

// Asks once more in place, for what can't be taken back: a dialog of the browser would stop the page.
// `unless()` says that nothing need be asked; `not()` is called after a no.
export function twice(label, question, { yes, no }, action, { unless = () => false, not = () => {}, ...attributes } = {}) {
  const ask = button(label, () => (unless() ? action() : swap(true)), attributes);
  const sure = button(yes, action, { class: "danger solid" });
  const never = button(no, () => (swap(false), not()));
  const sheet = element("span", { class: "twice", hidden: true, role: "group", "aria-label": question }, question, sure, never);
  function swap(asking) {
    sheet.hidden = !asking;
    ask.hidden = asking;
    (asking ? sure : ask).focus();
  }
  sheet.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), swap(false)));
  return element("span", { class: "asking" }, ask, sheet);
}

// A button that asks which of several is meant: a button for each, by what it is called.
export function choosing(label, question, choices, never) {
  const ask = button(label, () => swap(true));
  const buttons = choices.map(([name, action]) => button(name, () => (swap(false), action())));
  const sheet = element("span", { class: "twice", hidden: true, role: "group", "aria-label": question }, question, ...buttons, button(never, () => swap(false)));
  function swap(asking) {
    sheet.hidden = !asking;
    ask.hidden = asking;
    (asking ? buttons[0] : ask).focus();
  }
  sheet.addEventListener("keydown", (event) => event.key === "Escape" && (event.stopPropagation(), swap(false)));
  return element("span", { class: "asking" }, ask, sheet);
}

const SVG = "http://www.w3.org/2000/svg";
const PATHS = {
  menu: "M4 7h16M4 12h16M4 17h16",
  plus: "M12 5v14M5 12h14",
  chat: "M20 12a7.5 7.5 0 0 1-11 6.6L4 20l1.4-4.6A7.5 7.5 0 1 1 20 12Z",
  inbox: "M4 13l2.5-7h11L20 13v5H4zM4 13h5l1 2.5h4l1-2.5h5",
  list: "M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01",
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  clip: "M19 11.5l-7 7a4.5 4.5 0 0 1-6.4-6.4l7.5-7.5a3 3 0 0 1 4.3 4.3l-7.4 7.4a1.5 1.5 0 0 1-2.2-2.2l6.7-6.6",
  camera: "M4 8h3.5L9 5.5h6L16.5 8H20v11H4zM12 10a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4Z",
  down: "M12 5v14M6 13l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
  theme: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  leave: "M10 4H5v16h5M14 8l4 4-4 4M18 12H9",
  file: "M7 3h7l5 5v13H7zM14 3v5h5",
  pin: "M7 4h10v16l-5-4-5 4z",
  chart: "M5 20v-8M12 20V4M19 20v-6",
  flow: "M8 4h8v4H8zM4 16h6v4H4zM14 16h6v4h-6zM12 8v4M7 16v-4h10v4",
  people: "M8.5 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM3 19a5.5 5.5 0 0 1 11 0M15.5 11a2.5 2.5 0 1 0 0-5M16 14a5 5 0 0 1 5 5",
  steer: "M5 19V9a4 4 0 0 1 4-4h10M15 1l4 4-4 4",
};

export function icon(name) {
  return drawn("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, drawn("path", { d: PATHS[name] }));
}
