// Puts the page together: who is here, what is open, and what is new.

import { get, streamed } from "./api.js";
import { approvals } from "./approvals.js";
import { chat } from "./chat.js";
import { forgetUnsent, sweepUnsent } from "./unsent.js";
import { coalesced, follow } from "./events.js";
import { handOffs } from "./hand_offs.js";
import { memory } from "./memory.js";
import { comeBack } from "./oidc.js";
import { operations } from "./operations.js";
import { Problem } from "./wire.js";
import { requests } from "./requests.js";
import { dropToken, keepToken, remember, remembered, token } from "./session.js";
import { sidebar } from "./sidebar.js";
import { signIn } from "./sign_in.js";
import { at, brand, frame, later, menu, name, title, translate } from "./frame.js";
import { language, speak, t } from "./texts.js";
import { inZone } from "./times.js";

const NEWS_EVERY = 60_000; // in case; the server's stream of news says when, and at least every 15 seconds
const LANGUAGE = "language";
const AUTHORS = ["author", "operator"];

let people = null; // whom one may be, in `dev`
let provider = null; // where accounts are, if anywhere
let installed = new Set(); // the extensions in use
let watchesModel = false; // in `dev` whoever looks operates it too
let desk = null; // what is there once somebody is here
let comings = 0; // and leavings: whoever has left meanwhile isn't brought back by an answer

const complain = (text) => void (at("alert").textContent = text);

// What sections may ask of the page.
function pageFor(me, capabilities, colleagues) {
  const titles = new Map(capabilities.map((one) => [one.name, one.title]));
  const names = new Map(colleagues.map((one) => [one.id, one.name]));
  return {
    me,
    has: (extension) => installed.has(extension),
    operates: me.roles.includes("operator"),
    writesFlows: installed.has("authoring") && me.roles.some((role) => AUTHORS.includes(role)),
    takesHandOffs: me.helps || me.roles.includes("operator"),
    complain,
    trying,
    minding,
    say: (text) => (at("status").textContent = text),
    connected: (whether) => (at("offline").hidden = whether),
    titleOf: (name) => titles.get(name),
    nameOf: (id) => names.get(id) ?? id,
    people: () => colleagues,
    examples: () => examples(capabilities),
    count: (number) => (desk?.side.count(number), title(number)),
    seen: (conversation, latest) => desk?.side.note(conversation, latest),
    changed: () => minding(() => desk?.side.load()),
    draft: (conversation, text) => desk.sections.chat.draft(conversation, text),
    gone: (conversation) => (desk.side.gone(conversation), (location.hash = "#/new")),
    went: (hash) => (history.replaceState(null, "", hash), desk.side.mark(hash.slice(4), "chat")),
  };
}

// The first sentence of each flow, and of each tool that suggests some; then the second of each, and so on.
function examples(capabilities) {
  const lists = capabilities.map((one) => one.examples ?? []).filter((list) => list.length);
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, n) => lists.map((list) => list[n])).flat().filter(Boolean);
}

// Run what a person asked for; what goes wrong is shown, never lost.
function trying(work) {
  complain("");
  return minding(work);
}

// Run what goes on by itself: what somebody was told before stays on the screen.
async function minding(work) {
  try {
    return await work();
  } catch (problem) {
    return complainOf(problem);
  }
}

function complainOf(problem) {
  if (!(problem instanceof Problem)) throw problem;
  // What was still under way for who has left says nothing of who is here now.
  if (problem.status === 401) return problem.asWhom && problem.asWhom === token() ? leave(t("signedOut")) : undefined;
  if (problem.status === 0) return void (at("offline").hidden = false);
  return complain(`${t("failed")}: ${problem.message}`);
}

async function enter() {
  const mine = ++comings;
  const [me, { items: capabilities }, { items: colleagues }] = await Promise.all([get("/v1/me"), get("/v1/capabilities"), get("/v1/people")]);
  if (mine !== comings) return;
  if (!remembered(LANGUAGE)) speak(me.locale);
  inZone(me.timezone);
  translate();
  const page = pageFor(me, capabilities, colleagues);
  const sections = { chat: chat(page), approvals: approvals(page), requests: requests(page), memory: memory(page), ...(page.takesHandOffs && { handoffs: handOffs(page) }), ...(page.operates && { operations: operations(page) }), ...(page.writesFlows && { flows: later(t("flows"), "/web/author/author.css", async () => (await import("./author/flows.js")).flows(page)) }) };
  desk = { page, sections, side: sidebar(page), current: null, watching: new AbortController() };
  frame(desk.side.view, me);
  name(me.assistant);
  await Promise.all([trying(() => desk.side.load()), trying(open)]);
  await news();
  if (mine !== comings) return;
  desk.sections.chat.resume();
  minding(() => follow(streamed("/v1/events"), null, { heard: news, connected: page.connected }, desk.watching.signal));
}

function close() {
  comings += 1;
  desk?.sections.chat.close();
  desk?.watching.abort();
  desk = null;
}

function leave(why) {
  close();
  dropToken();
  frame(null, null);
  title(0);
  name(null);
  at("main").replaceChildren(signIn({ people, provider, enter: come, complain }));
  complain(why);
}

const come = (given) => {
  keepToken(given);
  return trying(enter);
};

// `#/c/…` is a conversation; `#/approvals`, `#/requests`, `#/memory` and, for some, `#/handoffs`, `#/operations` and
// `#/flows`, `#/flows/NAME` are what they say.
async function open() {
  const [, name = "", id = null, part = null] = location.hash.split("/");
  const section = Object.hasOwn(desk.sections, name) ? name : "chat";
  const conversation = name === "c" ? id || null : name === "" ? desk.sections.chat.current() : null;
  const { view, show } = desk.sections[section];
  const moved = desk.current !== section;
  desk.current = section;
  if (section === "chat" && conversation) history.replaceState(null, "", `#/c/${conversation}`);
  desk.side.mark(section === "chat" ? conversation : null, section);
  menu(false);
  if (moved) at("main").replaceChildren(view);
  if (moved && section !== "chat") view.querySelector("h1").focus();
  await show(section === "chat" ? conversation : id, part);
}

// What waits for a decision, what is new in conversations, and what is open.
const news = coalesced(async () => {
  if (document.hidden || !desk) return;
  try {
    const { side, sections, current, page } = desk;
    await Promise.all([side.load(), sections[current].refresh(), current === "approvals" || count(page), model()]);
    at("offline").hidden = true;
  } catch (problem) {
    complainOf(problem);
  }
});

// Whether one answers, before anybody wants it; what isn't ready otherwise is found out by using it.
async function model() {
  const readiness = watchesModel && (await get("/readyz").catch(() => null));
  at("modelless").hidden = readiness?.checks?.llm.status !== "degraded";
}

async function count(page) {
  page.count((await get("/v1/approvals?limit=1")).waiting);
}

// A browser that never opened the printed address is told of nobody.
function toStrangers(problem) {
  if (problem.status === 401) return [];
  throw problem;
}

async function begin() {
  speak(remembered(LANGUAGE) ?? navigator.language.slice(0, 2), Boolean(remembered(LANGUAGE)));
  translate();
  const { auth, oidc, has_model, extensions, title: titles } = await get("/web/config.json");
  brand(titles);
  provider = oidc;
  watchesModel = auth === "dev" && has_model;
  installed = new Set(extensions);
  if (auth === "dev") people = await get("/v1/dev/users").catch(toStrangers);
  if (provider) {
    const given = await comeBack(provider);
    if (given) keepToken(given);
  }
}

// Whose session has merely run out finds their drafts again; who leaves takes them along.
at("leave").addEventListener("click", () => (forgetUnsent(), leave("")));
at("language").addEventListener("click", () => {
  remember(LANGUAGE, language() === "zh" ? "en" : "zh");
  speak(remembered(LANGUAGE), true);
  translate();
  close();
  if (token()) trying(enter);
  else leave("");
});
addEventListener("hashchange", () => desk && trying(open));
document.addEventListener("visibilitychange", news);
setInterval(news, NEWS_EVERY);

sweepUnsent();
const failed = await begin().catch((problem) => problem);
if (token()) await trying(enter);
else leave("");
if (failed) complain(`${t("signInFailed")}: ${failed.message}`);
