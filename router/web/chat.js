// Conversations and what is said in them. The transcript on the server is the truth: what is
// sent shows at once as pending, and is replaced by what the server has.

import { fresh, get, post, turnOf } from "./api.js";
import { button, element, pairs } from "./dom.js";
import { writing } from "./events.js";
import { withLinks } from "./files.js";
import { form } from "./forms.js";
import { language, moment, statusName, t } from "./texts.js";
import { work } from "./work.js";

const WORK = new Set(["thinking", "tool_started", "tool_finished"]);

export function chat(page) {
  const list = element("ul", {});
  const older = button(t("more"), () => page.trying(() => loadConversations(true)), { class: "quiet", hidden: true });
  const log = element("ol", { class: "log", role: "log", "aria-live": "polite", "aria-label": t("transcript") });
  const flow = element("p", { class: "flow", hidden: true });
  const stop = button(t("stop"), () => page.trying(cancel), { hidden: true });
  const typed = element("textarea", {
    rows: "2",
    maxlength: "8000",
    "aria-label": t("message"),
    placeholder: t("placeholder"),
    onkeydown: onEnter,
  });
  const composer = element(
    "form",
    { class: "composer", onsubmit: onSubmit },
    typed,
    stop,
    button(t("send"), null, { type: "submit", class: "primary" }),
  );

  let conversation = null;
  let chosen = false; // whether one was opened, or a new one asked for
  let cursor = null; // of the next page of conversations
  let seen = null; // id of the last transcript item shown
  let pending = new Map(); // message id to the bubble that waits for the server's
  let drafts = new Map(); // message id to the bubble of what a model is writing
  let sending = 0;
  let titles = {}; // of flows and tools, by name

  async function loadConversations(more = false) {
    const page = await get(`/v1/conversations?limit=20${more && cursor ? `&after=${encodeURIComponent(cursor)}` : ""}`);
    cursor = page.next;
    older.hidden = cursor === null;
    const items = page.items.map(conversationItem);
    if (more) list.append(...items);
    else list.replaceChildren(...items);
    return page.items;
  }

  function conversationItem(item) {
    const open = () => page.trying(() => show(item.id));
    return element("li", {}, button(moment(item.created_at), open, { "data-id": item.id, class: "quiet" }));
  }

  async function show(id) {
    chosen = true;
    conversation = id;
    seen = null;
    pending = new Map();
    drafts = new Map();
    log.replaceChildren();
    showFlow(null);
    mark();
    await refresh();
    focusTyped();
  }

  // On a touch screen the focus would bring up the keyboard, unasked.
  function focusTyped() {
    if (matchMedia("(pointer: fine)").matches) typed.focus();
  }

  function mark() {
    for (const item of list.querySelectorAll("button")) {
      if (item.dataset.id === conversation) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
    if (!conversation) log.replaceChildren(element("li", { class: "hint" }, t("noConversation")));
  }

  async function begin() {
    const made = await post("/v1/conversations", { locale: language() });
    conversation = made.id;
    log.replaceChildren();
    await loadConversations();
    mark();
  }

  async function refresh() {
    if (!conversation) return;
    const asked = conversation;
    const before = seen;
    let more = true;
    while (more && asked === conversation) {
      const after = seen === null ? "" : `&after=${seen}`;
      const part = await get(`/v1/conversations/${asked}/messages?limit=200${after}`);
      if (asked !== conversation) return;
      part.items.filter((item) => seen === null || Number(item.id) > Number(seen)).forEach(append);
      more = part.next !== null;
    }
    if (seen !== before && !sending) showFlow((await get(`/v1/conversations/${asked}`)).active_flow);
  }

  function append(item) {
    seen = item.id;
    if (item.role === "user") {
      pending.get(item.message_id)?.remove();
      pending.delete(item.message_id);
    }
    const worked = item.role === "user" ? null : (undraft(item.message_id)?.ended() ?? null);
    retire();
    const bubble = item.role === "user" ? userBubble(item.text) : botBubble(item);
    if (worked) bubble.prepend(worked);
    const waiting = pending.values().next().value;
    if (waiting) waiting.before(bubble);
    else log.append(bubble);
    bubble.scrollIntoView({ block: "end" });
  }

  // Only the last question can still be answered by its buttons.
  function retire() {
    for (const control of log.querySelectorAll("li.bot button, li.bot input, li.bot select, li.bot textarea")) {
      control.disabled = true;
    }
  }

  const userBubble = (text) => element("li", { class: "user" }, element("p", {}, text));

  function botBubble(item) {
    const replies = item.replies?.length ? item.replies : [{ type: "text", text: item.text }];
    const why = item.route && `${titleOf(item.route.target) ?? item.route.kind} ← ${item.route.by}`;
    return element(
      "li",
      { class: "bot" },
      ...replies.flatMap(shown),
      why && element("small", { title: item.route.reason ?? "" }, why),
    );
  }

  function shown(reply) {
    const text = reply.text ? [element("p", {}, ...withLinks(reply.text, page.trying))] : [];
    if (reply.type === "choices") return [...text, choices(reply)];
    if (reply.type === "confirm") return [...text, confirmation(reply)];
    if (reply.type === "form") return [...text, form(reply, (fill) => page.trying(() => sendForm(reply, fill)))];
    return text;
  }

  function choices(reply) {
    const pick = (option) => () => act({ type: "choose", value: option.value, question: reply.question }, option.label);
    return element("div", { class: "choices" }, ...reply.options.map((o) => button(o.label, pick(o))));
  }

  function confirmation(reply) {
    const say = (value) => () => act({ type: "confirm", value, question: reply.question }, t(value ? "yes" : "no"));
    return element(
      "div",
      { class: "card" },
      pairs(reply.summary ?? {}),
      element("div", { class: "choices" }, button(t("yes"), say(true), { class: "primary" }), button(t("no"), say(false))),
    );
  }

  async function sendForm(reply, fill) {
    const action = await fill();
    await send({ action }, answered(reply, action));
  }

  function answered(reply, action) {
    const shownValue = (value) => (typeof value === "object" ? (value.name ?? Object.values(value).join(" ")) : String(value));
    return reply.fields
      .filter((field) => field.name in action.values)
      .map((field) => `${field.label}: ${shownValue(action.values[field.name])}`)
      .join("\n");
  }

  const act = (action, text) => page.trying(() => send({ action }, text));

  async function send(message, text) {
    if (!conversation) await begin();
    const to = conversation;
    const id = fresh();
    const bubble = userBubble(text);
    bubble.classList.add("pending");
    retire();
    pending.set(id, bubble);
    log.append(bubble);
    bubble.scrollIntoView({ block: "end" });
    busy(+1);
    try {
      const turn = await turnOf(`/v1/conversations/${to}/messages`, { ...message, message_id: id }, id, shows(to, id));
      if (to === conversation && turn.flow) showFlow(turn.flow);
    } catch (problem) {
      bubble.remove();
      undraft(id);
      pending.delete(id);
      if (message.text && !typed.value) typed.value = message.text;
      throw problem;
    } finally {
      busy(-1);
    }
    if (to === conversation) await refresh();
    undraft(id);
    if (to === conversation) focusTyped();
  }

  // What of a running turn can be seen already: the tool at work, the text as a model writes it.
  function shows(to, id) {
    const written = writing();
    return (name, data) => {
      if (to !== conversation) return;
      if (name === "tool_started") page.say(`${titleOf(data.name)}…`);
      if (name === "text_delta") draft(id).text.textContent = written(data);
      if (WORK.has(name)) draft(id).worked.heed(name, data);
    };
  }

  // The text is read out only when it is finished: until then it may still be begun anew.
  function draft(id) {
    if (!drafts.has(id)) {
      const text = element("p", { "aria-hidden": "true" });
      const worked = work(titleOf);
      const bubble = element("li", { class: "bot pending" }, worked.view, text);
      drafts.set(id, { bubble, text, worked });
      log.append(bubble);
    }
    drafts.get(id).bubble.scrollIntoView({ block: "end" });
    return drafts.get(id);
  }

  // Take it away, but for what was done for it.
  function undraft(id) {
    const gone = drafts.get(id);
    gone?.bubble.remove();
    drafts.delete(id);
    return gone?.worked;
  }

  function busy(change) {
    sending += change;
    stop.hidden = sending === 0;
    page.say(sending ? t("thinking") : "");
  }

  async function cancel() {
    await post(`/v1/conversations/${conversation}/cancel`);
  }

  const titleOf = (name) => titles[name] ?? name;

  function showFlow(summary) {
    flow.hidden = !summary;
    flow.textContent = summary ? `${titleOf(summary.name)} · ${statusName(summary.status)}` : "";
  }

  function onEnter(event) {
    // Enter also ends the input of a Chinese word; that one sends nothing.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    composer.requestSubmit();
  }

  function onSubmit(event) {
    event.preventDefault();
    const text = typed.value.trim();
    if (!text) return;
    typed.value = "";
    page.trying(() => send({ text }, text));
  }

  const aside = element(
    "aside",
    { "aria-label": t("conversations") },
    button(t("newConversation"), () => page.trying(() => show(null)), { class: "primary" }),
    list,
    older,
  );
  const view = element("div", { class: "chat" }, aside, element("section", {}, flow, log, composer));

  return {
    view,
    open: async () => {
      const { items: known } = await get("/v1/capabilities");
      titles = Object.fromEntries(known.map((one) => [one.name, one.title]));
      const items = await loadConversations();
      if (!chosen) await show(items[0]?.id ?? null);
      mark();
    },
    refresh,
  };
}
