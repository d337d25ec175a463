// What waits for the caller's decision.

import { fresh, get, post } from "./api.js";
import { button, element, labelled, pairs } from "./dom.js";
import { moment, t } from "./texts.js";

export function approvals(page) {
  const list = element("ul", { class: "cards" });
  const shown = new Map();

  async function refresh() {
    const { items } = await get("/v1/approvals?limit=100");
    page.count(items.length);
    const waiting = new Set(items.map((item) => item.id));
    for (const [id, card] of shown) {
      if (waiting.has(id)) continue;
      card.remove();
      shown.delete(id);
    }
    // Cards that are there stay as they are: somebody may be writing a comment in one.
    for (const item of items.filter((item) => !shown.has(item.id))) {
      shown.set(item.id, card(item));
      list.append(shown.get(item.id));
    }
    list.dataset.empty = items.length ? "" : t("nothingWaits");
  }

  function card(item) {
    const comment = element("textarea", { rows: "2", maxlength: "2000" });
    const key = fresh();
    const decide = (decision) => () => page.trying(() => send(item, decision, comment.value.trim(), key));
    const times = { [t("requester")]: item.requester, [t("since")]: moment(item.since) };
    if (item.due) times[t("due")] = moment(item.due);
    return element(
      "li",
      { class: "card" },
      element("h2", {}, item.title),
      pairs({ ...item.summary, ...times }),
      labelled(t("comment"), comment),
      element(
        "div",
        { class: "choices" },
        button(t("approve"), decide("approve"), { class: "primary" }),
        button(t("return"), decide("return")),
        button(t("reject"), decide("reject"), { class: "danger" }),
      ),
    );
  }

  async function send(item, decision, comment, key) {
    const controls = shown.get(item.id).querySelectorAll("button, textarea");
    controls.forEach((control) => (control.disabled = true));
    try {
      // The digest makes sure that what is decided is what was shown.
      const body = { decision, digest: item.digest, ...(comment && { comment }) };
      await post(`/v1/approvals/${encodeURIComponent(item.id)}/decision`, body, `${key}-${decision}`);
      page.say(`${t("decided")}: ${item.title}`);
    } finally {
      controls.forEach((control) => (control.disabled = false));
      await refresh();
    }
  }

  return { view: list, open: refresh, refresh };
}
