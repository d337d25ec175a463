// What waits for the caller's decision, one by one or several at once, and what they have decided.

import { get, post } from "./api.js";
import { PLAIN, approvalCard, decidedCard } from "./approval_card.js";
import { keepTyped } from "./unsent.js";
import { button, element, labelled, twice } from "./dom.js";
import { empty } from "./runs.js";
import { t } from "./texts.js";
import { fresh } from "./wire.js";

const MOST = 200;
const MANY = 6;
const FEW = 3; // so many stand open from the start
const PAGE = 30;
const NEVER = "9999";
const OF_ONE = new Set([404, 409, 422]); // what is wrong with one decision, and not with the next

export function approvals(page) {
  const list = element("ul", { class: "cards rows" });
  const none = empty("inbox", t("nothingWaits"), t("nothingWaitsHint"));
  const further = element("p", { class: "hint", hidden: true });
  const keys = element("p", { class: "hint keys", hidden: true }, t("inboxKeys"));
  const tools = looking(() => filter());
  const several = together(page, chosen, decideAll, tickAll);
  const waits = element("div", { class: "pane" }, none, further, tools.view, keys, list, several.view);
  const done = decided(page);
  const tabs = tabbed([
    [t("waiting"), waits, () => {}],
    [t("decidedOnes"), done.view, done.show],
  ]);
  const title = element("h1", { tabindex: "-1" }, t("approvals"));
  const view = element("section", { class: "sheet", onkeydown: key }, title, tabs.view, waits, done.view);
  const shown = new Map(); // approval id to its card
  const gone = new Map(); // approval id to when what was decided here began, until a list is without it

  // Opened anew, it has only what waits.
  async function show() {
    for (const card of list.querySelectorAll(".settled")) card.remove();
    tabs.open(0);
    await refresh();
    // What is due first stands first; but nothing moves while somebody is at it.
    if (!list.contains(document.activeElement)) list.append(...[...list.children].sort(byDue));
  }

  // Those of which a word is left out aren't gone: what is looked for is emptied with the page.
  function filter() {
    for (const card of list.children) card.hidden = !tools.wants(card, shown.get(card.dataset.id)?.item);
    several.count();
  }

  const standing = () => [...shown.values()].filter(({ view: one }) => !one.hidden && !one.inert);

  // Two keys decide: a letter goes to the button, Enter presses it. Who writes isn't disturbed.
  function key(event) {
    const writes = event.target.matches("input:not(.tick), textarea, select");
    if (writes || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const cards = [...list.children].map((one) => shown.get(one.dataset.id)).filter((one) => standing().includes(one));
    const at = cards.findIndex(({ view: one }) => one.contains(event.target));
    const to = { j: cards[at + 1], k: cards[Math.max(0, at - 1)] }[event.key]?.title ?? ways[event.key]?.(cards[at], event.key);
    if (!to || to.hidden) return;
    event.preventDefault();
    to.focus();
    to.scrollIntoView({ block: "nearest" });
  }

  const decisive = (card, letter) => {
    card?.open();
    return card?.view.querySelector(`[data-key="${letter}"]`);
  };
  const ways = { a: decisive, r: decisive, x: (card) => (card?.tick?.click(), card?.tick) };

  async function refresh() {
    const { items, next, waiting } = await get(`/v1/approvals?limit=${MOST}`);
    const listed = new Map(items.map((item) => [item.id, item.since]));
    // What was just decided may be listed a moment longer; what is asked again is listed anew.
    for (const [id, since] of gone) if (listed.get(id) !== since) gone.delete(id);
    const open = items.filter((item) => !gone.has(item.id));
    page.count(waiting - (items.length - open.length));
    further.hidden = next === null;
    further.textContent = t("moreWait", waiting, MOST);
    const ids = new Set(open.map((item) => item.id));
    // They are the newest: what is older than all of them may wait still.
    const oldest = next === null ? -Infinity : Math.min(...items.map((item) => new Date(item.since)));
    const known = ({ item }) => new Date(item.since) >= oldest;
    for (const [id, card] of shown) if (!ids.has(id) && !card.view.inert && known(card)) settle(id, t("noLonger"));
    add(open.filter((one) => !shown.has(one.id)));
    none.hidden = list.childElementCount > 0;
    tools.offer([...shown.values()].map(({ item }) => item));
    keys.hidden = shown.size < 2;
    filter();
  }

  // Cards that are there stay as they are: somebody may be writing a comment in one.
  function add(items) {
    const few = shown.size + items.length <= FEW;
    for (const item of items) {
      const card = approvalCard(item, { page, draft: draft(item.id), send, ticked: several.count });
      if (few) card.open();
      shown.set(item.id, card);
    }
    list.append(...items.map(({ id }) => shown.get(id).view));
  }

  // What is over keeps its place while the pointer is on it: were it to shrink, the next card would come
  // up under it, and a second click would decide on what nobody has looked at. Then it is a line.
  function settle(id, outcome) {
    const card = shown.get(id)?.view;
    if (!card) return;
    const held = card.contains(document.activeElement) || card.inert;
    const title = element("h2", { tabindex: "-1" }, shown.get(id).item.title);
    card.style.minHeight = `${card.offsetHeight}px`;
    card.classList.add("settled");
    card.inert = false;
    card.replaceChildren(title, element("p", { class: "hint" }, outcome));
    const shrink = () => (card.style.minHeight = "");
    if (!card.matches(":hover") && !card.hasAttribute("data-under")) shrink();
    else card.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && shrink());
    shown.delete(id);
    keepTyped(draft(id), "");
    if (held) title.focus({ preventScroll: true });
  }

  const draft = (id) => `${page.me.id}.approval.${id}`;

  async function send(item, body, comment, key) {
    const { view: card } = shown.get(item.id);
    const held = card.contains(document.activeElement) && document.activeElement;
    card.toggleAttribute("data-under", card.matches(":hover")); // what is inert has no pointer on it
    card.inert = true;
    try {
      await decide(item, body, comment, key);
      page.say(`${t("decided")}: ${item.title}`);
    } finally {
      card.inert = false;
      if (held?.isConnected) held.focus();
      await refresh();
    }
  }

  async function decide(item, body, comment, key) {
    // The digest makes sure that what is decided is what was shown.
    const whole = { ...body, digest: item.digest, ...(comment && { comment }) };
    await post(`/v1/approvals/${encodeURIComponent(item.id)}/decision`, whole, `${key}-${Object.values(body).join("-")}`.slice(0, 64));
    gone.set(item.id, item.since);
    settle(item.id, [t("decided"), PLAIN.has(body.decision) && t(body.decision)].filter(Boolean).join(": "));
  }

  function chosen() {
    return standing().filter(({ tick }) => tick?.checked);
  }

  function tickAll(whether) {
    for (const { tick } of standing()) if (tick) tick.checked = whether;
    several.count();
  }

  // One after the other, since each is a decision of its own. One that was decided elsewhere meanwhile
  // doesn't stop the others; what can't be decided now stays chosen.
  async function decideAll(decision, comment) {
    let done = 0;
    const failed = [];
    try {
      for (const { item } of chosen()) {
        try {
          await decide(item, { decision }, comment, fresh());
          done += 1;
        } catch (problem) {
          if (!OF_ONE.has(problem.status)) throw problem;
          failed.push(`${item.title}: ${problem.message}`);
        }
      }
    } finally {
      page.say(t("decidedAll", done));
      await refresh();
    }
    if (failed.length) page.complain(t("notDecided", failed.length, failed.slice(0, FEW).join(" ")));
  }

  return { view, show, refresh };
}

const byDue = (one, other) =>
  (one.dataset.due || NEVER).localeCompare(other.dataset.due || NEVER) || one.dataset.since.localeCompare(other.dataset.since);

// By words and by what it is about, where many wait.
function looking(changed) {
  const words = element("input", { type: "search", oninput: changed });
  const kinds = element("select", { onchange: changed });
  const kind = labelled(t("kind"), kinds);
  const view = element("div", { class: "finding", hidden: true }, labelled(t("find"), words), kind);

  function offer(items) {
    view.hidden = items.length < MANY;
    const titles = new Map(items.map((item) => [item.flow, item.flow_title]));
    const chosen = titles.has(kinds.value) ? kinds.value : "";
    const options = [["", t("allKinds")], ...titles].map(([value, title]) => element("option", { value }, title));
    kinds.replaceChildren(...options);
    kinds.value = chosen;
    kind.hidden = titles.size < 2;
  }

  const wants = (card, item) =>
    (!kinds.value || !item || item.flow === kinds.value) &&
    card.textContent.toLocaleLowerCase().includes(words.value.trim().toLocaleLowerCase());

  return { view, offer, wants };
}

// Several that are chosen, decided with one comment.
function together(page, chosen, decideAll, tickAll) {
  const comment = element("textarea", { rows: "1", maxlength: "2000" });
  const number = element("strong", { role: "status" });
  const said = () => comment.value.trim();
  const decide = (decision) => page.trying(() => decideAll(decision, said())).then(() => (comment.value = ""));
  const reasoned = { unless: () => said() !== "", not: () => comment.focus() };
  const view = element(
    "div",
    { class: "together", hidden: true, role: "group", "aria-label": t("together") },
    number,
    button(t("tickAll"), () => tickAll(true), { class: "link" }),
    button(t("tickNone"), () => tickAll(false), { class: "link" }),
    labelled(`${t("comment")} (${t("optional")})`, comment),
    element(
      "div",
      { class: "actions" },
      button(t("approve"), () => decide("approve"), { class: "primary" }),
      twice(t("return"), t("reallyReturn"), { yes: t("return"), no: t("sayWhy") }, () => decide("return"), reasoned),
      twice(t("reject"), t("reallyReject"), { yes: t("reject"), no: t("neverMind") }, () => decide("reject"), { class: "danger" }),
    ),
  );

  function count() {
    const many = chosen().length;
    view.hidden = many === 0;
    number.textContent = t("ticked", many);
  }

  return { view, count };
}

// What the caller has decided, the latest first.
function decided(page) {
  const list = element("ul", { class: "cards rows" });
  const none = empty("inbox", t("nothingDecided"), t("nothingDecidedHint"));
  const older = button(t("more"), () => page.trying(more), { hidden: true });
  const view = element("div", { class: "pane", hidden: true }, none, list, older);
  let cursor = null;

  async function more() {
    const after = cursor ? `&after=${encodeURIComponent(cursor)}` : "";
    const { items, next } = await get(`/v1/approvals?decided=true&limit=${PAGE}${after}`);
    list.append(...items.map((item) => decidedCard(item, page)));
    cursor = next;
    older.hidden = next === null;
    none.hidden = list.childElementCount > 0;
  }

  function show() {
    list.replaceChildren();
    cursor = null;
    return page.trying(more);
  }

  return { view, show };
}

// `parts` are `[name, view, opened]`: one view at a time, chosen by the buttons of their names.
function tabbed(parts) {
  const buttons = parts.map(([name], place) => button(name, () => open(place), { class: "quiet", "aria-pressed": "false" }));
  function open(place) {
    parts.forEach(([, view], each) => (view.hidden = each !== place));
    buttons.forEach((one, each) => one.setAttribute("aria-pressed", String(each === place)));
    parts[place][2]();
  }
  return { view: element("div", { class: "tabs" }, ...buttons), open };
}
