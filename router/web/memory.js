// What the caller asked to have remembered: to be read, added to and forgotten.

import { get, post, remove } from "./api.js";
import { button, element, labelled, twice } from "./dom.js";
import { empty } from "./runs.js";
import { t } from "./texts.js";
import { ago, moment } from "./times.js";

const LONGEST = 500;

export function memory(page) {
  const list = element("ul", { class: "cards" });
  const none = empty("pin", t("nothingKept"), t("nothingKeptHint"));
  const words = element("input", { type: "text", maxlength: LONGEST, required: true, autocomplete: "off" });
  const form = element("form", { onsubmit: keep }, labelled(t("toKeep"), words), element("button", { type: "submit" }, t("keep")));
  const all = twice(t("forgetAll"), t("reallyForgetAll"), { yes: t("forgetAll"), no: t("neverMind") }, () => forget("/v1/memory"));
  const view = element(
    "section",
    { class: "sheet" },
    element("h1", { tabindex: "-1" }, t("memory")),
    element("p", { class: "hint" }, t("memoryHint")),
    none,
    list,
    form,
    element("div", { class: "actions" }, all),
  );
  let made = null;

  // Nothing is drawn anew under somebody's hand where nothing has changed.
  async function refresh() {
    const { items } = await get("/v1/memory");
    if (JSON.stringify(items) === made) return;
    made = JSON.stringify(items);
    list.replaceChildren(...items.map(card));
    none.hidden = items.length > 0;
    all.hidden = items.length === 0;
  }

  function card(item) {
    const when = element("time", { class: "hint", datetime: item.created_at, title: moment(item.created_at) }, ago(item.created_at));
    const gone = button(t("forget"), () => forget(`/v1/memory/${encodeURIComponent(item.id)}`), { "aria-label": `${t("forget")}: ${item.text}` });
    return element("li", { class: "card" }, element("p", { lang: item.locale }, item.text), when, element("div", { class: "actions" }, gone));
  }

  function keep(event) {
    event.preventDefault();
    return page.trying(async () => {
      await post("/v1/memory", { text: words.value });
      words.value = "";
      page.say(t("kept"));
      await refresh();
    });
  }

  function forget(path) {
    return page.trying(async () => {
      await remove(path);
      page.say(t("forgotten"));
      all.querySelector(".twice button:last-child")?.click();
      await refresh();
      view.querySelector("h1").focus();
    });
  }

  return { view, show: refresh, refresh };
}
