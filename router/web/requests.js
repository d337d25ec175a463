// The caller's own flow runs and what became of them.

import { get, post } from "./api.js";
import { button, element, pairs } from "./dom.js";
import { moment, statusName, t } from "./texts.js";

const ENDED = new Set(["completed", "rejected", "cancelled", "failed", "expired"]);

export function requests(page) {
  const list = element("ul", { class: "cards" });
  let last = "";

  async function refresh() {
    const { items } = await get("/v1/flow-runs?limit=50");
    const now = JSON.stringify(items);
    if (now === last) return;
    last = now;
    const open = new Set([...list.querySelectorAll("details[open]")].map((details) => details.dataset.run));
    list.replaceChildren(...items.map((run) => card(run, open.has(run.id))));
    list.dataset.empty = items.length ? "" : t("nothingAsked");
  }

  function card(run, open) {
    return element(
      "li",
      { class: "card" },
      element("h2", {}, run.title, " ", element("span", { class: `chip ${run.status}` }, statusName(run.status))),
      element("p", { class: "hint" }, moment(run.created_at)),
      element(
        "details",
        { "data-run": run.id, open },
        element("summary", {}, t("details")),
        pairs(Object.fromEntries(Object.entries(run.slots).map(([name, value]) => [name, plain(value)]))),
        element("h3", {}, t("history")),
        element("ol", { class: "history" }, ...run.history.map(line)),
        element("a", { href: run.temporal.url, target: "_blank", rel: "noopener noreferrer" }, t("inTemporal")),
      ),
      actions(run),
    );
  }

  function line(entry) {
    const words = [entry.event, entry.state, entry.by, entry.comment && `“${entry.comment}”`];
    return element("li", {}, element("time", { datetime: entry.at }, moment(entry.at)), " ", words.filter(Boolean).join(" · "));
  }

  function plain(value) {
    if (value === null || typeof value !== "object") return String(value);
    if ("amount" in value) return `${value.amount} ${value.currency}`;
    const parts = Array.isArray(value) ? value : Object.entries(value).map(([key, part]) => `${key}: ${plain(part)}`);
    return parts.map((part) => plain(part)).join(Array.isArray(value) ? " | " : ", ");
  }

  function actions(run) {
    if (ENDED.has(run.status)) return null;
    const word = (verb) => () => page.trying(() => tell(run, verb));
    const nudge = run.status === "waiting_approval" ? button(t("nudge"), word("nudge")) : null;
    return element("div", { class: "choices" }, nudge, withdrawing(word("withdraw")));
  }

  // Asks once more by itself: a dialog of the browser would stop the page's news.
  function withdrawing(withdraw) {
    const ask = button(t("withdraw"), () => {
      if (ask.classList.contains("danger")) return withdraw();
      ask.classList.add("danger");
      ask.textContent = t("reallyWithdraw");
      return undefined;
    });
    return ask;
  }

  async function tell(run, verb) {
    await post(`/v1/flow-runs/${encodeURIComponent(run.id)}/${verb}`);
    page.say(t("done"));
    await refresh();
  }

  return { view: list, open: refresh, refresh };
}
