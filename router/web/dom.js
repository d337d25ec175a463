// Elements from data. Text only ever becomes a text node, so that nothing a person typed is markup.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (typeof value === "boolean") made.toggleAttribute(name, value);
    else if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", onclick, ...attributes }, label);
}

export function pairs(summary) {
  const rows = Object.entries(summary).flatMap(([label, value]) => [
    element("dt", {}, label),
    element("dd", {}, String(value)),
  ]);
  return element("dl", {}, ...rows);
}

let fieldCount = 0;

export function labelled(label, input, attributes = {}) {
  input.id = `field-${++fieldCount}`;
  return element("div", { class: "field", ...attributes }, element("label", { for: input.id }, label), input);
}
