// Conversations that were handed to people: the queue, and those that the caller has.

import { get, post } from "./api.js";
import { button, element, labelled, twice } from "./dom.js";
import { empty } from "./runs.js";
import { t } from "./texts.js";
import { ago, clock, moment } from "./times.js";
import { fresh } from "./wire.js";

const LONGEST = 8000;
const MOST = 200;

export function handOffs(page) {
  const list = element("ul", { class: "cards" });
  const none = empty("people", t("nobodyWaits"), t("nobodyWaitsHint"));
  const title = element("h1", { tabindex: "-1" }, t("handoffs"));
  const view = element("section", { class: "sheet" }, title, none, list);
  const shown = new Map(); // hand-off id to its card

  // A card stays where it is while it is somebody's: they may be writing in it.
  async function refresh() {
    const parts = await Promise.all(["taken", "open"].map((state) => get(`/v1/handoffs?state=${state}&limit=${MOST}`)));
    const items = parts.flatMap((part) => part.items);
    const there = new Set(items.map(keyOf));
    for (const [key, card] of shown) {
      if (there.has(key)) continue;
      card.view.remove();
      shown.delete(key);
    }
    for (const item of items) {
      const key = keyOf(item);
      if (!shown.has(key)) {
        const card = mine(item) ? own(item) : other(item);
        shown.set(key, card);
        if (mine(item)) list.prepend(card.view);
        else list.append(card.view);
      }
      await shown.get(key).update(item);
    }
    none.hidden = shown.size > 0;
  }

  const mine = (item) => item.agent?.id === page.me.id;
  const keyOf = (item) => `${item.id} ${item.agent?.id ?? ""}`;
  const path = (item, what) => `/v1/handoffs/${encodeURIComponent(item.id)}/${what}`;

  function headOf(item) {
    const since = element("time", { class: "hint", datetime: item.since, title: moment(item.since) }, ago(item.since));
    const about = element("p", { class: "hint" }, ...[item.reason, item.reason && " · ", since].filter(Boolean));
    const waits = element("span", { class: "chip soon", hidden: true });
    const head = element("header", {}, element("div", {}, element("h2", { tabindex: "-1" }, item.requester.name), about), waits);
    const update = (now) => {
      waits.hidden = now.waiting_since === null;
      if (now.waiting_since) waits.textContent = t("waitsSince", ago(now.waiting_since));
    };
    return { head, update };
  }

  // In the queue, or somebody else's.
  function other(item) {
    const { head, update } = headOf(item);
    const has = item.agent && element("p", { class: "hint" }, t("hasIt", item.agent.name));
    const back = page.operates && item.agent && twice(t("giveBack"), t("reallyGiveBack"), { yes: t("giveBack"), no: t("neverMind") }, () => end(item, "return"));
    const take = !item.agent && page.me.helps && item.requester.id !== page.me.id && button(t("takeIt"), () => taken(item), { class: "primary", "aria-label": `${t("takeIt")}: ${item.requester.name}` });
    const actions = [take, back].filter(Boolean);
    return { view: element("li", { class: "card" }, head, has, actions.length ? element("div", { class: "actions" }, ...actions) : null), update };
  }

  function taken(item) {
    return page.trying(async () => {
      try {
        await post(path(item, "take"));
      } finally {
        await refresh(); // somebody else may have been quicker
      }
      shown.get(`${item.id} ${page.me.id}`)?.view.querySelector("textarea").focus();
    });
  }

  // The caller's own: what was said, and what is said next.
  function own(item) {
    const { head, update } = headOf(item);
    const lines = element("ol", {});
    const talk = element("div", { class: "talk", role: "log", "aria-label": t("transcript"), tabindex: "0" }, lines);
    const words = element("textarea", { rows: "2", maxlength: LONGEST, required: true });
    const form = element("form", { onsubmit: say }, labelled(t("answerTo", item.requester.name), words), element("button", { type: "submit", class: "primary" }, t("send")));
    const actions = element("div", { class: "actions" }, button(t("giveBack"), () => end(item, "return")), button(t("itIsDone"), () => end(item, "close")));
    let seen = null;
    let key = fresh(); // one for each thing that is said, however often it is sent

    words.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });

    async function more() {
      for (let next = seen ?? ""; next !== null; ) {
        const part = await get(`${path(item, "messages")}?limit=${MOST}${next && `&after=${next}`}`);
        for (const one of part.items.filter((each) => seen === null || Number(each.id) > Number(seen))) {
          lines.append(line(one));
          seen = one.id;
          talk.scrollTop = talk.scrollHeight;
        }
        next = part.next;
      }
    }

    function line(one) {
      const who = one.role === "user" ? item.requester.name : (one.author?.name ?? t("theDesk"));
      const when = element("time", { datetime: one.at }, clock(one.at));
      return element("li", { class: one.author ? "own" : one.role }, element("strong", {}, who), " ", when, element("p", {}, one.text));
    }

    function say(event) {
      event.preventDefault();
      const text = words.value.trim();
      if (!text) return;
      return page.trying(async () => {
        await post(path(item, "reply"), { text }, key);
        key = fresh();
        words.value = "";
        await refresh();
      });
    }

    const following = async (now) => (update(now), await more());
    return { view: element("li", { class: "card" }, head, talk, form, actions), update: following };
  }

  function end(item, how) {
    return page.trying(async () => {
      try {
        await post(path(item, how));
        page.say(t("givenBack", item.requester.name));
      } finally {
        await refresh();
      }
      title.focus();
    });
  }

  return { view, show: refresh, refresh };
}
