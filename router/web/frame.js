// What stands around every section: the side with its menu, who is here, light or dark.

import { element, icon } from "./dom.js";
import { remember, remembered } from "./session.js";
import { avatar } from "./runs.js";
import { language, t } from "./texts.js";

const THEME = "theme";
const NARROW = matchMedia("(max-width: 760px)");

export const at = (id) => document.getElementById(id);

const NAME = "intent-router";
let waits = 0;
let called = NAME;
let house = null; // what the company calls the page, in each language
let helper = null;

// What the company calls the page, if it has said so, whoever is here.
export function brand(titles) {
  house = titles;
  name(helper);
}

// The company's title; without one what the assistant is called, and for nobody what the program is.
export function name(assistant) {
  helper = assistant;
  called = house?.[language()] ?? assistant ?? NAME;
  at("called").textContent = called;
  title(waits);
}

export function title(waiting) {
  waits = waiting;
  document.title = waiting ? `(${waiting}) ${called}` : called;
  at("menu").toggleAttribute("data-news", Boolean(waiting));
}

export function translate() {
  for (const marked of document.querySelectorAll("[data-text]")) marked.textContent = t(marked.dataset.text);
  for (const marked of document.querySelectorAll("[data-label]")) {
    marked.setAttribute("aria-label", t(marked.dataset.label));
    marked.title = t(marked.dataset.label);
  }
  at("language").textContent = t("otherLanguage");
  at("language").title = t("inOtherLanguage");
}

// The lists at the side and whose they are; null where nobody is here.
export function frame(lists, me) {
  at("lists").replaceChildren(lists ?? "");
  at("who").replaceChildren(...(me ? [avatar(me.name, me.id), me.name] : []));
  at("leave").hidden = at("menu").hidden = !me;
  document.body.toggleAttribute("data-here", Boolean(me));
  menu(false);
}

// On a narrow screen the side comes over the page, and keeps the focus until it goes.
export function menu(open) {
  const over = open && NARROW.matches;
  document.body.toggleAttribute("data-menu", over);
  at("menu").setAttribute("aria-expanded", String(over));
  at("side").inert = NARROW.matches && !over && document.body.hasAttribute("data-here");
  at("main").inert = over;
  at("shade").hidden = !over;
  if (over) at("close").focus();
}

// A section that few people open: its module and its style sheet are loaded when somebody does.
export function later(called, sheet, load) {
  const view = element("div", { class: "later" }, element("h1", { tabindex: "-1" }, called));
  let section = null;
  async function show(...opened) {
    const first = !section;
    if (first) {
      if (!document.head.querySelector(`link[href="${sheet}"]`)) document.head.append(element("link", { rel: "stylesheet", href: sheet }));
      section = await load();
    }
    await section.show(...opened);
    if (!first) return;
    const held = view.contains(document.activeElement);
    view.replaceChildren(section.view);
    if (held) view.querySelector("h1").focus();
  }
  return { view, show, refresh: async () => section?.refresh() };
}

function theme(chosen) {
  if (chosen) document.documentElement.dataset.theme = chosen;
}

const isDark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

for (const part of document.querySelectorAll("[data-icon]")) part.append(icon(part.dataset.icon));
theme(remembered(THEME));
at("theme").addEventListener("click", () => {
  remember(THEME, isDark() ? "light" : "dark");
  theme(remembered(THEME));
});
at("menu").addEventListener("click", () => menu(true));
const shut = () => {
  menu(false);
  at("menu").focus();
};
at("close").addEventListener("click", shut);
at("shade").addEventListener("click", shut);
at("side").addEventListener("keydown", (event) => event.key === "Escape" && document.body.hasAttribute("data-menu") && shut());
NARROW.addEventListener("change", () => menu(false));
