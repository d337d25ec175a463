// The desk within a page of the company's own: one script, in a shadow root, at the page's origin.
//
//   <script type="module" src="https://desk.example.com/web/portal.js" data-token="deskToken"></script>
//
// `deskToken` is a function of the page: it gives the bearer token of who sits there, or a promise of
// it, and is called again once a token is refused. `open(options)` is the same for who imports it.

import { button, element, freshId, pairs } from "./dom.js";
import { coalesced, follow, rest } from "./events.js";
import { inputOf, valueOf } from "./fields.js";
import { rich } from "./markdown.js";
import { Problem, connection, fresh } from "./wire.js";

const TEXTS = {
  open: { zh: "打开服务台", en: "Open the desk" },
  title: { zh: "服务台", en: "Desk" },
  close: { zh: "关闭", en: "Close" },
  again: { zh: "新对话", en: "New conversation" },
  log: { zh: "对话内容", en: "Conversation" },
  message: { zh: "消息", en: "Message" },
  placeholder: { zh: "想办什么？", en: "What can we do for you?" },
  send: { zh: "发送", en: "Send" },
  attach: { zh: "添加文件", en: "Attach a file" },
  submit: { zh: "提交", en: "Submit" },
  choose: { zh: "请选择", en: "Choose" },
  optional: { zh: "选填", en: "optional" },
  yes: { zh: "确认", en: "Yes" },
  no: { zh: "不对", en: "Not right" },
  away: { zh: "连不上服务台，正在重试", en: "The desk can't be reached; trying again" },
  stranger: { zh: "现在没法确认你是谁，请刷新页面重新登录。", en: "We can't tell who you are just now: reload the page and sign in." },
  failed: { zh: "没有成功：{}", en: "That didn't work: {}" },
  waiting: { zh: "正在处理……", en: "Working on it …" },
};

const STYLE = `
:host { all: initial; color-scheme: light dark; --paper: light-dark(#fff, #1b2223); --ink: light-dark(#1a2425, #e8eeec);
  --faint: light-dark(#566364, #a5b2b0); --line: light-dark(#8a9794, #6f7d7b); --accent: light-dark(#0b6353, #56cab4);
  --on-accent: light-dark(#fff, #04241d); --tint: light-dark(#e1f1ec, #17352f); --danger: light-dark(#a4262c, #ffa29c);
  position: fixed; inset: auto 1rem 1rem auto; z-index: 2147483000; font: 1rem/1.5 system-ui, "PingFang SC", "Noto Sans CJK SC", sans-serif; color: var(--ink); }
* { box-sizing: border-box; }
[hidden] { display: none !important; }
button, input, select, textarea { font: inherit; color: inherit; }
button { min-height: 2.5rem; padding: .25rem .875rem; border: 1px solid var(--line); border-radius: .625rem; background: var(--paper); cursor: pointer; }
button:disabled { opacity: .6; cursor: default; }
button.primary, .launch { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.launch { position: relative; border-radius: 1.5rem; min-height: 3rem; padding: 0 1.25rem; box-shadow: 0 2px 8px #0004; font-weight: 600; }
.launch[data-news]::after { content: attr(data-news); position: absolute; inset: -.375rem -.25rem auto auto; min-width: 1.375rem; border-radius: 1rem; background: var(--danger); color: var(--paper); font-size: .8125rem; }
.panel { display: flex; flex-direction: column; width: min(24rem, calc(100vw - 2rem)); height: min(38rem, calc(100vh - 2rem)); border: 1px solid var(--line); border-radius: .75rem; background: var(--paper); box-shadow: 0 4px 24px #0003; overflow: hidden; }
header { display: flex; align-items: center; gap: .5rem; padding: .5rem .75rem; border-bottom: 1px solid var(--line); }
h2 { font-size: 1rem; margin: 0 auto 0 0; }
.scroller { flex: 1; overflow: auto; }
.log { margin: 0; padding: .75rem; list-style: none; display: grid; align-content: start; gap: .75rem; overflow-wrap: anywhere; }
.user p { justify-self: end; background: var(--tint); border-radius: .875rem; padding: .375rem .75rem; white-space: pre-wrap; width: fit-content; max-width: 85%; margin: 0 0 0 auto; }
.bot { display: grid; gap: .5rem; }
.bot p, .bot ul, .bot ol { margin: 0; white-space: pre-wrap; }
.table { overflow: auto; } table { border-collapse: collapse; } th, td { text-align: start; padding: .125rem .5rem .125rem 0; } .amount { text-align: end; }
fieldset { border: 0; margin: 0; padding: 0; min-width: 0; display: grid; gap: .5rem; }
.options { display: flex; flex-wrap: wrap; gap: .5rem; }
.card { border: 1px solid var(--line); border-radius: .75rem; padding: .625rem .75rem; display: grid; gap: .5rem; }
dl { margin: 0; display: grid; gap: .25rem; } dl > div { display: grid; grid-template-columns: 6rem 1fr; gap: .5rem; } dt { color: var(--faint); } dd { margin: 0; }
.field { display: grid; gap: .25rem; } .field input, .field select, .field textarea, form.say textarea { width: 100%; border: 1px solid var(--line); border-radius: .5rem; padding: .375rem .5rem; background: transparent; }
form.say { display: flex; align-items: end; gap: .5rem; padding: .625rem; border-top: 1px solid var(--line); } form.say textarea { resize: none; min-height: 2.5rem; }
.note { margin: 0; padding: .25rem .75rem; color: var(--faint); font-size: .875rem; } .error { color: var(--danger); }
a { color: var(--accent); }
`;

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8000;
const PROMPTLY = new Set(["message", "reply", "turn", "flow"]);

// Put the desk into the page: `token()` gives a bearer token, `locale` is zh or en, `within` where it goes.
export function open({ token, locale, within = document.body, base = new URL("..", import.meta.url).href }) {
  const language = (locale ?? document.documentElement.lang ?? "").toLowerCase().startsWith("zh") ? "zh" : "en";
  const t = (key, value) => TEXTS[key][language].replace("{}", value);
  const desk = connection({ bearer: token, locale: () => language, base: base.replace(/\/$/, ""), renews: true, credentials: "omit" });
  const place = `intent-router.portal ${base}`;
  const host = element("intent-router-desk", { lang: language });
  const root = host.attachShadow({ mode: "open" });
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(STYLE);
  root.adoptedStyleSheets = [sheet];

  const heading = freshId("desk");
  const log = element("ol", { class: "log" });
  const scroller = element("div", { class: "scroller", role: "log", "aria-live": "polite", "aria-label": t("log"), tabindex: "0" }, log);
  const note = element("p", { class: "note", role: "status", hidden: true });
  const typed = element("textarea", { rows: "1", maxlength: "8000", "aria-label": t("message"), placeholder: t("placeholder"), onkeydown });
  const pick = element("input", { type: "file", hidden: true, "aria-label": t("attach"), onchange: handIn });
  const saying = element(
    "form",
    { class: "say", onsubmit: (event) => (event.preventDefault(), submit()) },
    element("button", { type: "button", "aria-label": t("attach"), onclick: () => pick.click() }, "＋"),
    pick,
    typed,
    element("button", { type: "submit", class: "primary" }, t("send")),
  );
  const head = element(
    "header",
    {},
    element("h2", { id: heading }, t("title")),
    button(t("again"), begin),
    button("✕", () => show(false), { "aria-label": t("close") }),
  );
  const panel = element("section", { class: "panel", role: "dialog", "aria-labelledby": heading, hidden: true, onkeydown: (event) => event.key === "Escape" && show(false) }, head, scroller, note, saying);
  const launch = button(t("title"), () => show(true), { class: "launch", "aria-label": t("open"), "aria-expanded": "false" });
  root.append(launch, panel);
  within.append(host);

  let conversation = sessionStorage.getItem(place);
  let seen = "0";
  let unseen = 0;
  let watching = new AbortController();
  let early = Promise.resolve(); // what is said before there is a conversation, one after the other
  const sent = new Map(); // message id to its bubble, until the transcript has it

  function show(isOpen) {
    panel.hidden = !isOpen;
    launch.hidden = isOpen;
    launch.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) {
      unseen = 0;
      launch.removeAttribute("data-news");
      scroller.scrollTop = scroller.scrollHeight;
      typed.focus();
    } else launch.focus();
  }

  function tell(text, isError = false) {
    note.textContent = text ?? "";
    note.hidden = !text;
    note.classList.toggle("error", isError);
  }

  function begin() {
    watching.abort();
    watching = new AbortController();
    conversation = null;
    early = Promise.resolve();
    seen = "0";
    sent.clear();
    sessionStorage.removeItem(place);
    log.replaceChildren();
    tell();
    typed.focus();
  }

  function onkeydown(event) {
    // Enter also ends the input of a Chinese word; that one sends nothing.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    submit();
  }

  function submit() {
    const text = typed.value.trim();
    if (!text) return;
    typed.value = "";
    say({ text }, text, () => (typed.value ||= text));
  }

  async function handIn() {
    const [file] = pick.files;
    pick.value = "";
    if (file) await minding(async () => say({ files: [(await desk.upload("/v1/files", file)).id] }, file.name));
  }

  const minding = async (work) => {
    try {
      await work();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      tell(problem.status === 401 ? t("stranger") : t("failed", problem.message), true);
    }
  };

  // Once, however often it has to be sent: by its id the desk knows it again.
  function say(body, shown, refused = () => {}) {
    const message = { ...body, message_id: fresh() };
    const bubble = element("li", { class: "user" }, element("p", {}, shown));
    sent.set(message.message_id, bubble);
    append(bubble);
    tell(t("waiting"));
    const send = async () => {
      try {
        const here = conversation ?? (await created());
        await insistently(`${path(here)}/messages`, message);
        if (here !== conversation) return;
        tell();
        await refresh();
      } catch (problem) {
        bubble.remove();
        refused();
        throw problem;
      }
    };
    if (conversation) return minding(send);
    return (early = early.then(() => minding(send)));
  }

  // Until it is answered: a message that is still being worked on is asked after under the same key.
  async function insistently(to, body) {
    const key = body.message_id ?? fresh();
    for (let pause = FIRST_PAUSE; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      let waits = pause;
      try {
        const answer = await desk.post(to, body, key);
        if (answer.status !== "running") return answer;
      } catch (problem) {
        if (!(problem instanceof Problem) || !(problem.passes || problem.isBusy)) throw problem;
        if (!problem.isBusy) lost();
        waits = problem.waits(pause);
      }
      await rest(waits);
    }
  }

  // The conversation's id. Where another was begun meanwhile, this one isn't shown.
  async function created() {
    const { signal } = watching;
    const { id } = await insistently("/v1/conversations", { locale: language });
    if (signal.aborted) return id;
    conversation = id;
    sessionStorage.setItem(place, id);
    watch();
    return id;
  }

  const path = (id = conversation) => `/v1/conversations/${encodeURIComponent(id)}`;
  const lost = () => tell(t("away"));

  const refresh = coalesced(async () => {
    const of = conversation;
    for (let more = Boolean(of); more; ) {
      const page = await desk.get(`${path()}/messages?limit=200${seen === "0" ? "" : `&after=${seen}`}`);
      if (of !== conversation) return;
      for (const item of page.items) add(item);
      more = page.next !== null;
    }
  });

  function add(item) {
    if (Number(item.id) <= Number(seen)) return;
    seen = item.id;
    sent.get(item.message_id)?.remove();
    sent.delete(item.message_id);
    if (item.role === "user") return append(element("li", { class: "user" }, element("p", {}, item.text)));
    for (const open of log.querySelectorAll("fieldset")) open.disabled = true;
    append(element("li", { class: "bot" }, ...(item.replies?.length ? item.replies : [{ type: "text", text: item.text }]).flatMap(shown)));
    if (panel.hidden) launch.dataset.news = String(++unseen);
    return undefined;
  }

  function append(bubble) {
    log.append(bubble);
    scroller.scrollTop = scroller.scrollHeight;
  }

  function watch() {
    const { signal } = watching;
    const heard = (name) => PROMPTLY.has(name) && minding(refresh);
    const connected = (whether) => (whether ? note.textContent === t("away") && tell() : lost());
    minding(async () => {
      try {
        await refresh();
        await follow(desk.streamed(`${path()}/events`), seen, { heard, connected }, signal);
      } catch (problem) {
        if (problem.status !== 404) throw problem;
        begin(); // it was deleted elsewhere
      }
    });
  }

  const PARTS = { choices, confirm, form };

  function shown(reply) {
    const text = reply.type === "confirm" || !reply.text ? [] : rich(reply.text, fileLink);
    const act = (action, label) => say({ action: { ...action, question: reply.question } }, label);
    const part = PARTS[reply.type]?.(reply, act);
    const skip = reply.skip && button(reply.skip.label, () => act({ type: "choose", value: reply.skip.value }, reply.skip.label));
    return part || skip ? [...text, element("fieldset", { "aria-label": reply.text.split("\n")[0] }, part, skip)] : text;
  }

  function choices(reply, act) {
    return element("div", { class: "options" }, ...reply.options.map(({ label, value }) => button(label, () => act({ type: "choose", value }, label))));
  }

  function confirm(reply, act) {
    const say = (value, label, more) => button(label, () => act({ type: "confirm", value }, label), more);
    const buttons = [say(true, reply.yes || t("yes"), { class: "primary" }), say(false, reply.no || t("no"))];
    return element("div", { class: "card" }, ...rich(reply.text, fileLink), pairs(reply.summary ?? {}), element("div", { class: "options" }, ...buttons));
  }

  function form(reply, act) {
    const inputs = reply.fields.map((field) => [field, control(field)]);
    const rows = inputs.map(([field, input]) => {
      const label = element("label", { for: (input.id = freshId("field")) }, field.label, field.required === false ? ` (${t("optional")})` : null);
      return element("div", { class: "field" }, label, input);
    });
    const onsubmit = (event) => {
      event.preventDefault();
      return minding(async () => {
        const filled = inputs.filter(([, input]) => input.value !== "");
        const values = await Promise.all(filled.map(async ([field, input]) => [field.name, await given(field, input)]));
        const said = filled.map(([field, input]) => `${field.label}: ${input.selectedOptions?.[0]?.label ?? input.files?.[0]?.name ?? input.value}`);
        await act({ type: "form", values: Object.fromEntries(values) }, said.join("\n"));
      });
    };
    return element("form", { class: "card", onsubmit }, ...rows, element("button", { type: "submit", class: "primary" }, t("submit")));
  }

  function control(field) {
    const required = field.required !== false;
    const yesOrNo = [true, false].map((value) => ({ label: t(value ? "yes" : "no"), value }));
    const options = field.type === "boolean" ? yesOrNo : field.options;
    if (options) {
      const each = options.map(({ label, value }) => element("option", { value: JSON.stringify(value) }, label));
      return element("select", { required }, element("option", { value: "" }, t("choose")), ...each);
    }
    if (field.type === "text") return element("textarea", { rows: "2", required });
    return element("input", { ...inputOf(field), required, autocomplete: "off" });
  }

  const given = (field, input) => (input.files ? desk.upload("/v1/files", input.files[0]) : valueOf(field, input.value, Boolean(input.selectedOptions)));

  // A file is given to who has the token, which a link can't carry.
  function fileLink(address) {
    const fetched = () => minding(async () => {
      const { name, content } = await desk.fetched(address);
      const href = URL.createObjectURL(content);
      element("a", { href, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(href), 60_000);
    });
    return button(address.split("/").at(-1), fetched);
  }

  function close() {
    watching.abort();
    host.remove();
  }

  if (conversation) watch();
  return { show, close, host };
}

// The one line: what it says about itself is in its attributes.
const own = [...document.querySelectorAll("script[data-token]")].find(({ src }) => src === import.meta.url);
if (own) {
  const { token: named, locale } = own.dataset;
  open({ token: (about) => globalThis[named](about), locale });
}
