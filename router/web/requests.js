// The caller's own flow runs and what became of them.

import { get, post } from "./api.js";
import { button, element, freshId, twice } from "./dom.js";
import { changing, chip, diagram, empty, filesOf, known, temporalLink, timeline } from "./runs.js";
import { t } from "./texts.js";
import { ago, moment } from "./times.js";

const PAGE = 30;
const AGAIN_AFTER = 60 * 60_000; // milliseconds for which those who were reminded are left in peace

// Whether the server would refuse to remind them again; a reminder of whom it waited for before is none.
const remindedLately = (run, now = Date.now()) =>
  run.history.some((line) => line.event === "nudged" && line.state === run.state && now - new Date(line.at) < AGAIN_AFTER);

export function requests(page) {
  const list = element("ul", { class: "cards" });
  const none = empty("list", t("nothingAsked"), t("nothingAskedHint"));
  const older = button(t("more"), () => page.trying(more), { hidden: true });
  const view = element("section", { class: "sheet" }, element("h1", { tabindex: "-1" }, t("requests")), none, list, older);
  const shown = new Map(); // run id to its card and what it was made of
  const told = new Map(); // run id to when its approvers were reminded from here: its parts keep that themselves
  let cursor = null;

  const reminded = (run) => remindedLately(run) || Date.now() - (told.get(run.id) ?? 0) < AGAIN_AFTER;

  // Those that have changed are drawn anew, in place; what is being read stays as it is.
  async function refresh() {
    const part = await get(`/v1/flow-runs?limit=${PAGE}`);
    if (shown.size <= PAGE) cursor = part.next;
    for (const run of part.items.toReversed()) put(run, (made) => list.prepend(made));
    settle();
  }

  async function more() {
    const part = await get(`/v1/flow-runs?limit=${PAGE}&after=${encodeURIComponent(cursor)}`);
    cursor = part.next;
    for (const run of part.items) put(run, (made) => list.append(made));
    settle();
  }

  function settle() {
    older.hidden = cursor === null;
    none.hidden = shown.size > 0;
  }

  function put(run, add) {
    const before = shown.get(run.id);
    const made = JSON.stringify([run, reminded(run)]);
    // Nobody is interrupted who is being asked whether they are sure.
    if (before?.made === made || before?.view.querySelector(".twice:not([hidden])")) return;
    const open = before?.view.querySelector("details")?.open ?? false;
    const held = before?.view.contains(document.activeElement);
    const view = card(run, open);
    if (before) before.view.replaceWith(view);
    else add(view);
    if (held) view.querySelector("summary").focus();
    shown.set(run.id, { view, made });
  }

  function card(run, open) {
    const title = element("h2", { id: freshId("run") }, run.title);
    const when = element("time", { class: "hint", datetime: run.created_at, title: moment(run.created_at) }, ago(run.created_at));
    const first = Object.values(run.summary).slice(0, 3).join(" · ");
    const details = element(
      "details",
      { open },
      element("summary", {}, t("details")),
      known(run),
      filesOf(run, page),
      element("h3", {}, t("history")),
      timeline(run, page),
      diagram(run, page),
      element("div", { class: "actions" }, conversationLink(run), temporalLink(run)),
    );
    return element(
      "li",
      { class: "card", "aria-labelledby": title.id },
      element("header", {}, element("div", {}, title, element("p", { class: "hint" }, first), when), chip(run.status)),
      run.held_because ? element("p", { class: "why-held" }, run.held_because) : null,
      details,
      actions(run),
    );
  }

  const reminder = (run, remind) => (reminded(run) ? element("span", { class: "hint" }, t("remindedLately")) : button(t("nudge"), remind));

  const conversationLink = (run) => run.conversation && element("a", { href: `#/c/${run.conversation}` }, t("toConversation"));

  function actions(run) {
    const tell = (verb, said) => page.trying(async () => {
      await post(`/v1/flow-runs/${encodeURIComponent(run.id)}/${verb}`);
      if (verb === "nudge") told.set(run.id, Date.now());
      page.say(t(said));
      shown.get(run.id)?.view.querySelectorAll(".twice").forEach((sheet) => (sheet.hidden = true));
      await refresh();
    });
    const words = { yes: t("withdraw"), no: t("neverMind") };
    const parts = [
      run.status === "waiting_approval" && reminder(run, () => tell("nudge", "nudged")),
      changing(run, page),
      run.can_be_withdrawn && twice(t("withdraw"), t("reallyWithdraw"), words, () => tell("withdraw", "withdrawing")),
    ].filter(Boolean);
    return parts.length ? element("div", { class: "actions" }, ...parts) : null;
  }

  return { view, show: refresh, refresh };
}
