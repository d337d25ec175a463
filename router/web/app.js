// Puts the page together: who is here, which section is open, and asking for news.

import { Problem, get, signIn, signOut, signedIn } from "./api.js";
import { approvals } from "./approvals.js";
import { chat } from "./chat.js";
import { button, element, labelled } from "./dom.js";
import { requests } from "./requests.js";
import { language, speak, t } from "./texts.js";

const NEWS_EVERY = 2000;
const LANGUAGE = "intent-router.language";
const SECTIONS = { chat, approvals, requests };

const at = (id) => document.getElementById(id);
let sections = {};
let current = "chat";
let people = null; // whom one may be; null where a token is needed

const page = {
  say: (text) => (at("status").textContent = text),
  complain: (text) => (at("alert").textContent = text),
  count: (number) => (tab("approvals").dataset.count = number || ""),

  // Run what a person asked for; what goes wrong is shown, never lost.
  async trying(work) {
    try {
      page.complain("");
      return await work();
    } catch (problem) {
      return complainOf(problem);
    }
  },
};

function complainOf(problem) {
  if (!(problem instanceof Problem)) throw problem;
  if (problem.status === 401) return leave(t("signedOut"));
  return page.complain(problem.status === 0 ? t("offline") : `${t("failed")}: ${problem.message}`);
}

const tab = (name) => at("tabs").querySelector(`[data-section="${name}"]`);

function translate() {
  for (const marked of document.querySelectorAll("[data-text]")) marked.textContent = t(marked.dataset.text);
  for (const marked of document.querySelectorAll("[data-label]")) marked.setAttribute("aria-label", t(marked.dataset.label));
  at("language").textContent = t("otherLanguage");
  at("tabs").replaceChildren(
    ...Object.keys(SECTIONS).map((name) => button(t(name), () => page.trying(() => open(name)), { "data-section": name })),
  );
}

async function open(name) {
  current = name;
  for (const one of at("tabs").children) one.removeAttribute("aria-current");
  tab(name).setAttribute("aria-current", "page");
  at("main").replaceChildren(sections[name].view);
  await sections[name].open();
}

async function enter() {
  const me = people?.find((person) => person.id === signedIn());
  if (people && !me) return leave("");
  speak(localStorage.getItem(LANGUAGE) ?? me?.locale ?? navigator.language.slice(0, 2));
  translate();
  at("name").textContent = me?.name ?? "";
  at("leave").hidden = at("tabs").hidden = false;
  sections = Object.fromEntries(Object.entries(SECTIONS).map(([name, make]) => [name, make(page)]));
  await page.trying(() => open(current));
  return news();
}

function leave(why) {
  signOut();
  sections = {};
  current = "chat";
  at("name").textContent = "";
  at("leave").hidden = at("tabs").hidden = true;
  at("main").replaceChildren(people ? whoAreYou() : askToken());
  page.complain(why);
}

function whoAreYou() {
  const choose = (person) => () => (signIn(person.id), page.complain(""), enter());
  const buttons = people.map((person) => button(`${person.name} (${person.roles.join(", ")})`, choose(person)));
  return element("section", { class: "card welcome" }, element("h2", {}, t("signInAs")), element("div", { class: "choices" }, ...buttons));
}

function askToken() {
  const token = element("input", { type: "password", required: true, autocomplete: "off" });
  const onsubmit = (event) => (event.preventDefault(), signIn(token.value.trim()), page.complain(""), enter());
  return element(
    "form",
    { class: "card welcome", onsubmit },
    labelled(t("token"), token),
    button(t("signIn"), null, { type: "submit", class: "primary" }),
  );
}

// What is open, and what waits for a decision; a hidden tab asks for nothing.
async function news() {
  if (document.hidden || !sections[current]) return;
  try {
    await sections[current].refresh();
    if (current !== "approvals") page.count((await get("/v1/approvals?limit=100")).items.length);
    if (at("alert").textContent === t("offline")) page.complain("");
  } catch (problem) {
    complainOf(problem);
  }
}

async function forEver() {
  for (;;) {
    await new Promise((wake) => setTimeout(wake, NEWS_EVERY));
    await news();
  }
}

at("leave").addEventListener("click", () => leave(""));
at("language").addEventListener("click", () => {
  localStorage.setItem(LANGUAGE, language() === "zh" ? "en" : "zh");
  speak(localStorage.getItem(LANGUAGE));
  translate();
  if (signedIn()) enter();
  else leave("");
});
document.addEventListener("visibilitychange", news);

speak(localStorage.getItem(LANGUAGE) ?? navigator.language.slice(0, 2));
translate();
people = await get("/v1/dev/users").catch(() => null);
if (signedIn()) await enter();
else leave("");
forEver();
