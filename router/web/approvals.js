// What waits for the caller's decision.

import { fresh, get, post } from "./api.js";
import { keepTyped, keeping } from "./drafts.js";
import { button, element, freshId, labelled, pairs, twice, unfolding } from "./dom.js";
import { avatar, diagram, empty, filesOf, timeline } from "./runs.js";
import { t } from "./texts.js";
import { ago, left, moment } from "./times.js";

export const MOST = 100;

export function approvals(page) {
  const list = element("ul", { class: "cards" });
  const none = empty("inbox", t("nothingWaits"), t("nothingWaitsHint"));
  const further = element("p", { class: "hint", hidden: true }, t("moreWait", MOST));
  const search = labelled(t("find"), element("input", { type: "search", oninput: () => filter() }), { class: "field find", hidden: true });
  const keys = element("p", { class: "hint keys", hidden: true }, t("inboxKeys"));
  const title = element("h1", { tabindex: "-1" }, t("approvals"));
  const view = element("section", { class: "sheet", onkeydown: key }, title, none, further, search, keys, list);
  const shown = new Map(); // approval id to its card
  const decided = new Map(); // approval id to what was listed of it when it was decided here

  // Opened anew, it has only what waits.
  async function show() {
    for (const card of list.querySelectorAll(".settled")) card.remove();
    decided.clear();
    await refresh();
    // What is due first stands first; but nothing moves while somebody is at it.
    if (!list.contains(document.activeElement)) list.append(...[...list.children].sort(byDue));
  }

  // Those of which a word is left out aren't gone: what is looked for is emptied with the page.
  function filter() {
    const wanted = search.querySelector("input").value.trim().toLocaleLowerCase();
    for (const card of list.children) card.hidden = !card.textContent.toLocaleLowerCase().includes(wanted);
  }

  // Two keys decide: a letter goes to the button, Enter presses it. Who writes isn't disturbed.
  function key(event) {
    const writes = event.target.matches("input, textarea, select");
    if (writes || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const open = [...list.querySelectorAll(".card:not(.settled)")].filter((card) => !card.hidden && !card.inert);
    const at = open.findIndex((card) => card.contains(event.target));
    const moved = { j: open[at + 1], k: open[Math.max(0, at - 1)] }[event.key];
    const to = moved?.querySelector("h2") ?? open[at]?.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (!to || to.hidden) return;
    event.preventDefault();
    to.focus();
    to.scrollIntoView({ block: "nearest" });
  }

  async function refresh() {
    const { items, next } = await get(`/v1/approvals?limit=${MOST}`);
    // What was just decided may be listed a moment longer; what is asked again is listed anew.
    const waiting = items.filter((item) => decided.get(item.id) !== item.since);
    page.count(waiting.length, next);
    further.hidden = next === null;
    const ids = new Set(waiting.map((item) => item.id));
    // They are the newest: what is older than all of them may wait still.
    const oldest = next === null ? -Infinity : Math.min(...items.map((item) => new Date(item.since)));
    const known = (card) => new Date(card.dataset.since) >= oldest;
    for (const [id, card] of shown) if (!ids.has(id) && !card.inert && known(card)) settle(id, t("noLonger"));
    // Cards that are there stay as they are: somebody may be writing a comment in one.
    for (const item of waiting.filter((one) => !shown.has(one.id))) {
      shown.set(item.id, card(item));
      list.append(shown.get(item.id));
    }
    none.hidden = list.childElementCount > 0;
    search.hidden = shown.size < MANY;
    keys.hidden = shown.size < 2;
    filter();
  }

  // What is over keeps its place while the pointer is on it: were it to shrink, the next card would come
  // up under it, and a second click would decide on what nobody has looked at. Then it is a line.
  function settle(id, outcome) {
    const card = shown.get(id);
    if (!card) return;
    const held = card.contains(document.activeElement) || card.inert;
    const title = card.querySelector("h2");
    card.style.minHeight = `${card.offsetHeight}px`;
    card.classList.add("settled");
    card.inert = false;
    card.replaceChildren(title, element("p", { class: "hint" }, outcome));
    const shrink = () => (card.style.minHeight = "");
    if (!card.matches(":hover")) shrink();
    else card.addEventListener("pointerleave", ({ pointerType }) => pointerType === "mouse" && shrink());
    shown.delete(id);
    keepTyped(draft(id), "");
    if (held) title.focus({ preventScroll: true });
  }

  const draft = (id) => `${page.me.id}.approval.${id}`;

  function card(item) {
    const title = element("h2", { id: freshId("approval"), tabindex: "-1" }, item.title);
    const comment = keeping(element("textarea", { rows: "2", maxlength: "2000" }), draft(item.id));
    const key = fresh();
    const decide = (decision, more = {}) => page.trying(() => send(item, { decision, ...more }, comment.value.trim(), key));
    const reasoned = { unless: () => comment.value.trim() !== "", not: () => comment.focus() };
    return element(
      "li",
      { class: "card", "aria-labelledby": title.id, "data-since": item.since, "data-due": item.due ?? "" },
      about(item, title),
      pairs(item.summary),
      ...more(item),
      labelled(`${t("comment")} (${t("optional")})`, comment),
      element(
        "div",
        { class: "actions" },
        button(t("approve"), () => decide("approve"), { class: "primary", "data-key": "a" }),
        twice(t("return"), t("reallyReturn"), { yes: t("return"), no: t("sayWhy") }, () => decide("return"), { ...reasoned, "data-key": "r" }),
        twice(t("reject"), t("reallyReject"), { yes: t("reject"), no: t("neverMind") }, () => decide("reject"), { class: "danger" }),
      ),
      passing(item, decide),
    );
  }

  function about(item, title) {
    const name = page.nameOf(item.requester);
    const due = item.due && left(item.due);
    return element(
      "header",
      {},
      avatar(name, item.requester),
      element("div", {}, title, element("p", { class: "hint" }, t("asks", name, ago(item.since)))),
      due && element("time", { class: `chip ${due.soon ? "soon" : ""}`, datetime: item.due, title: moment(item.due) }, due.text),
    );
  }

  // Its files at once, since they are what is to be looked at; the rest when it is asked for.
  function more(item) {
    const run = get(`/v1/flow-runs/${encodeURIComponent(item.flow_run)}`);
    const files = element("div", {});
    run.then((found) => files.append(filesOf(found, page) ?? "")).catch(() => files.remove());
    const history = async () => {
      const found = await page.trying(() => run);
      return found ? [timeline(found, page), diagram(found, page)] : [];
    };
    return [files, unfolding(t("history"), history)];
  }

  function passing(item, decide) {
    const refused = new Set([page.me.id, item.requester, ...item.asked]);
    const fill = () => {
      const others = page.people().filter((person) => !refused.has(person.id));
      const to = element("select", { required: true }, element("option", { value: "" }, t("choose")), ...others.map(option));
      const how = element("select", {}, ...WAYS.map(([name]) => element("option", { value: name }, t(name))));
      const onsubmit = (event) => {
        event.preventDefault();
        const [, body] = WAYS.find(([name]) => name === how.value);
        decide(body.decision, { ...body, to: to.value });
      };
      const submit = button(t("passIt"), null, { type: "submit" });
      return element("form", { class: "passing", onsubmit }, labelled(t("toWhom"), to), labelled(t("how"), how), submit);
    };
    return unfolding(t("passOn"), fill);
  }

  async function send(item, body, comment, key) {
    const view = shown.get(item.id);
    const held = view.contains(document.activeElement) && document.activeElement;
    view.inert = true;
    try {
      // The digest makes sure that what is decided is what was shown.
      const whole = { ...body, digest: item.digest, ...(comment && { comment }) };
      await post(`/v1/approvals/${encodeURIComponent(item.id)}/decision`, whole, `${key}-${Object.values(body).join("-")}`.slice(0, 64));
      decided.set(item.id, item.since);
      settle(item.id, [t("decided"), PLAIN.has(body.decision) && t(body.decision)].filter(Boolean).join(": "));
      page.say(`${t("decided")}: ${item.title}`);
    } finally {
      view.inert = false;
      if (held?.isConnected) held.focus();
      await refresh();
    }
  }

  return { view, show, refresh };
}

const MANY = 6;

const NEVER = "9999";

const byDue = (one, other) =>
  (one.dataset.due || NEVER).localeCompare(other.dataset.due || NEVER) || one.dataset.since.localeCompare(other.dataset.since);

const PLAIN = new Set(["approve", "return", "reject"]);

const WAYS = [
  ["delegate", { decision: "delegate" }],
  ["addAfter", { decision: "add", position: "after" }],
  ["addBefore", { decision: "add", position: "before" }],
];

const option = (person) => element("option", { value: person.id }, person.department ? `${person.name} · ${person.department}` : person.name);
