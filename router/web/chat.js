// One conversation. The transcript on the server is the truth: what is sent shows at once as
// pending, and is replaced by what the server has; its events say when to look.

import { get, post, remove, streamed } from "./api.js";
import { attachments } from "./attachments.js";
import { composer } from "./composer.js";
import { button, element, twice } from "./dom.js";
import { keepTyped, typed } from "./unsent.js";
import { coalesced, follow } from "./events.js";
import { flowCard } from "./flow_card.js";
import { outbox } from "./outbox.js";
import { empty } from "./runs.js";
import { language, t } from "./texts.js";
import { transcript } from "./transcript.js";
import { uploads } from "./uploads.js";
import { fresh } from "./wire.js";

const LIVE = new Set(["thinking", "plan", "tool_started", "tool_finished", "text_delta"]);
const EXAMPLES = 6;

export function chat(page) {
  const tray = attachments(page);
  const log = transcript(page, { act, offer: tray.offer });
  const flow = flowCard(page);
  const typing = composer({ send: say, stop, tray });
  const start = element("div", { class: "start", hidden: true });
  const gone = twice(t("deleteConversation"), t("reallyDeleteConversation"), { yes: t("deleteConversation"), no: t("neverMind") }, forget, { class: "quiet" });
  const bar = element("div", { class: "bar", hidden: true }, gone);
  const view = element("section", { class: "chat", "aria-label": t("chat") }, bar, flow.view, start, log.view, typing.view);
  const shipped = uploads();
  const sending = outbox(page.me.id, { changed: busy, begun, connected: page.connected, handedIn: shipped.handedIn });
  const place = (id) => `${page.me.id}.chat.${id ?? "new"}`; // of what is typed there
  let conversation = null;
  let beginning = fresh(); // of the conversation that what is said next begins, where there is none
  let seen = null; // id of the last transcript item shown
  let watching = new AbortController();
  const deleted = new Set(); // conversations, by whoever sits here

  tray.droppable(view);
  document.addEventListener("keydown", pickByNumber);

  async function show(id) {
    watching.abort();
    watching = new AbortController();
    conversation = id;
    beginning = fresh();
    seen = null;
    log.clear();
    start.hidden = id !== null;
    log.view.hidden = bar.hidden = id === null;
    typing.view.hidden = false;
    typing.open(place(id));
    tray.open(place(id));
    if (!id) welcome();
    const found = await Promise.all([flow.show(id), id && load(id, false)]).catch(missing);
    if (id !== conversation) return;
    if (!found) return lost();
    for (const entry of sending.waiting.filter((one) => one.conversation === id)) log.sent(entry);
    log.toLatest();
    busy();
    if (id) watch(id, watching.signal);
    typing.focus();
  }

  function welcome() {
    const ask = (text) => button(text, () => send({ text }, text), { class: "choice" });
    const ideas = page.examples().slice(0, EXAMPLES).map(ask);
    start.replaceChildren(empty("chat", t("hello"), t("helloHint")), element("div", { class: "options" }, ...ideas));
  }

  // Nothing is here for this person: whatever id it was, that is all they are told.
  function missing(problem) {
    if (problem.status !== 404) throw problem;
    return null;
  }

  function lost() {
    conversation = null;
    const begin = element("a", { href: "#/new" }, t("newConversation"));
    start.replaceChildren(empty("chat", t("noConversation"), t("noConversationHint")), element("div", { class: "options" }, begin));
    [start.hidden, bar.hidden, log.view.hidden, typing.view.hidden] = [false, true, true, true];
    page.say(t("noConversation"));
    begin.focus();
  }

  // Everything said since what is on the screen. `isNews`: it happens before somebody's eyes.
  async function load(id, isNews) {
    for (let more = true; more; ) {
      const after = seen === null ? "" : `&after=${seen}`;
      const part = await get(`/v1/conversations/${encodeURIComponent(id)}/messages?limit=200${after}`);
      if (id !== conversation) return;
      for (const item of part.items.filter((one) => seen === null || Number(one.id) > Number(seen))) {
        log.append(item, isNews);
        seen = item.id;
      }
      more = part.next !== null;
    }
    page.seen(id, seen);
  }

  const refresh = coalesced(async () => {
    const id = conversation;
    if (!id) return;
    await load(id, true).catch(missing);
    await flow.show(id);
    busy();
  });

  function watch(id, signal) {
    const heard = (name, data) => {
      if (LIVE.has(name)) {
        log.heed(name, data);
        if (name === "tool_started") page.say(`${page.titleOf(data.name) ?? data.name}…`);
        return busy();
      }
      return page.minding(async () => {
        await refresh();
        if (name === "turn") log.ended(data.message_id);
        busy();
      });
    };
    const path = `/v1/conversations/${encodeURIComponent(id)}/events`;
    const following = () => follow(streamed(path), seen ?? "0", { heard, connected: page.connected }, signal);
    // Its owner may have it deleted in another window.
    page.minding(() => following().catch((problem) => (missing(problem), id === conversation && lost())));
  }

  function busy() {
    tray.explain();
    typing.busy(log.busy() || sending.waiting.some((one) => one.conversation === conversation));
  }

  function act(action, text) {
    if (action.type === "form") tray.sent();
    return send({ action }, text);
  }

  const entryOf = (body, text) => ({ id: fresh(), conversation, beginning, locale: language(), body, text });

  const send = (body, text) => page.trying(() => deliver(entryOf(body, text)));

  // What is typed, with the files that wait beside it; one of the two may be missing.
  function say(text, on_busy) {
    const entry = entryOf({ ...(text && { text }), on_busy }, text);
    const items = tray.take();
    if (items.length) {
      entry.attached = items.map((item) => item.file.name);
      shipped.carry(entry.id, items); // not waited for: the outbox has the message at once
    }
    return page.trying(() => deliver(entry));
  }

  // Files that nothing took go back to where they were attached.
  async function settle(entry, isLeft) {
    if (!entry.attached) return;
    const items = await shipped.arrived(entry.id);
    await tray.giveBack(place(entry.conversation), items.filter(isLeft));
  }

  async function deliver(entry) {
    const here = () => entry.conversation === conversation;
    const held = document.activeElement;
    if (here()) {
      start.hidden = true;
      log.view.hidden = false;
      log.sent(entry);
    }
    try {
      const { files_left: left = [] } = await sending.send(entry);
      await settle(entry, (item) => left.includes(item.id));
    } catch (problem) {
      if (problem.status === 404 && deleted.has(entry.conversation)) return;
      if (!sending.waiting.includes(entry)) await takeBack(entry);
      throw problem;
    } finally {
      busy();
    }
    if (here()) {
      await refresh();
      log.refused(entry.id); // it was stopped before it was taken in
      focusNext(held);
    }
    page.changed();
  }

  // It was refused: it can be said again, as it was.
  async function takeBack(entry) {
    if (entry.conversation === conversation) log.refused(entry.id);
    if (entry.body.text) typing.restore(place(entry.conversation), entry.body.text);
    await settle(entry, () => true);
  }

  // A conversation begins with what is said first: whoever says nothing leaves none behind.
  async function begun(id, by) {
    if (conversation !== null || by !== beginning) return;
    page.went(`#/c/${id}`);
    await tray.move(place(id));
    // Last, for somebody may be typing: from here to the new place nothing is waited for.
    keepTyped(place(id), typed(place(null)));
    keepTyped(place(null), "");
    await show(id);
  }

  // What was on its way when the page was left goes on.
  function resume() {
    for (const entry of [...sending.waiting]) page.trying(() => deliver(entry));
  }

  // The answer may have been on the screen for a while: who has moved on since sending stays there.
  function focusNext(held) {
    if (![document.body, held].includes(document.activeElement)) return;
    const field = [...log.log.querySelectorAll("fieldset.answer.form:enabled")].at(-1)?.querySelector("input, select, textarea");
    if (field && matchMedia("(pointer: fine)").matches) field.focus();
    else typing.focus();
  }

  async function stop() {
    await page.trying(async () => {
      await post(`/v1/conversations/${encodeURIComponent(conversation)}/cancel`).catch((problem) => {
        if (problem.status !== 409) throw problem; // it was over already
      });
    });
  }

  // For good: what is still under way in it comes to nothing.
  function forget() {
    const id = conversation;
    return page.trying(async () => {
      gone.querySelector(".twice button:last-child").click();
      watching.abort();
      deleted.add(id);
      await remove(`/v1/conversations/${encodeURIComponent(id)}`);
      keepTyped(place(id), "");
      page.gone(id);
      page.say(t("conversationDeleted"));
    });
  }

  // 1 to 9 press the open question's buttons, where nobody is typing.
  function pickByNumber(event) {
    const editing = event.target.closest?.("input, textarea, select");
    if (!view.isConnected || editing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!/^[1-9]$/.test(event.key)) return;
    const open = [...log.log.querySelectorAll("fieldset.answer.choices:enabled")].at(-1);
    open?.querySelectorAll("button")[Number(event.key) - 1]?.click();
  }

  function close() {
    watching.abort();
    sending.close();
    document.removeEventListener("keydown", pickByNumber);
  }

  // Words to be gone on with where that conversation is, unless something is being typed there.
  function draft(id, text) {
    typing.restore(place(id), text);
    if (id === conversation && location.hash === `#/c/${id}`) typing.focus();
    else location.hash = `#/c/${id}`;
  }

  return { view, show, refresh, resume, close, draft, current: () => conversation };
}
