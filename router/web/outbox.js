// What was sent and isn't answered yet. It is kept in the tab, and sent again after a reload or
// once the server is back: by its id the server knows it again, and does nothing twice.

import { post } from "./api.js";
import { rest } from "./events.js";
import { Problem } from "./wire.js";

const LONGEST_PAUSE = 8000;

// An entry that is `attached` has files, which `handedIn(id)` makes ids of.
// One without a `conversation` has the `beginning` of it: all of the same one share what that begins.
// `changed()` is called whenever `waiting` is another, `connected(whether)` as the server comes and
// goes, and `begun(id, beginning)` where what is sent has begun a conversation.
export function outbox(user, { changed, begun, connected, handedIn }) {
  const place = `intent-router.outbox.${user}`;
  const waiting = JSON.parse(sessionStorage.getItem(place) ?? "[]");
  const gone = new AbortController();
  const underWay = new Map(); // message id to its delivery: what has to come behind it waits for it
  const openings = new Map(); // beginning to what opens its conversation
  const opened = new Map(); // beginning to the id of its conversation

  function keep() {
    sessionStorage.setItem(place, JSON.stringify(waiting));
    changed();
  }

  // Send it until it is answered; the turn. Throws what the server refuses it with.
  async function send(entry) {
    entry.conversation ??= opened.get(entry.beginning) ?? null;
    // What waits for the same conversation to begin would set out at once, and arrive in any order.
    const early = entry.conversation === null;
    const ahead = (other) => other.attached || (early && other.beginning === entry.beginning);
    if (!waiting.includes(entry)) {
      waiting.push(entry);
      keep();
    }
    const before = waiting.slice(0, waiting.indexOf(entry)).filter(ahead);
    const mine = Promise.allSettled(before.map(({ id }) => underWay.get(id))).then(() => delivered(entry));
    underWay.set(entry.id, mine);
    try {
      const turn = await mine;
      drop(entry);
      return turn;
    } catch (problem) {
      // Who has to sign in again finds it still waiting.
      if (problem.status !== 401 && !gone.signal.aborted) drop(entry);
      throw problem;
    }
  }

  function drop(entry) {
    underWay.delete(entry.id);
    waiting.splice(waiting.indexOf(entry), 1);
    keep();
  }

  async function delivered(entry) {
    for (let pause = 250; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      if (gone.signal.aborted) throw new Problem(0, "");
      let waits = pause;
      try {
        const answer = await attempt(entry);
        connected(true);
        if (answer.status !== "running") return answer;
      } catch (problem) {
        if (!(problem instanceof Problem) || !(problem.passes || problem.isBusy)) throw problem;
        connected(problem.isBusy);
        waits = problem.waits(pause);
      }
      await rest(waits, gone.signal);
    }
  }

  async function attempt(entry) {
    await prepared(entry);
    const path = `/v1/conversations/${encodeURIComponent(entry.conversation)}/messages`;
    return post(path, { ...entry.body, message_id: entry.id }, entry.id);
  }

  // With a conversation to go to, and with the ids of its files.
  async function prepared(entry) {
    if (!entry.conversation) await opening(entry);
    if (!entry.attached || entry.body.files) return;
    entry.body.files = await handedIn(entry.id, { alone: !entry.body.text });
    keep();
  }

  // What is said before the first answer came belongs to the same conversation.
  async function opening({ beginning, locale }) {
    if (!openings.has(beginning)) openings.set(beginning, open(beginning, locale));
    try {
      await openings.get(beginning);
    } catch (problem) {
      openings.delete(beginning);
      throw problem;
    }
  }

  async function open(beginning, locale) {
    const { id } = await post("/v1/conversations", { locale }, beginning);
    opened.set(beginning, id);
    for (const entry of waiting.filter((one) => one.beginning === beginning)) entry.conversation = id;
    keep();
    await begun(id, beginning);
  }

  return { waiting, send, close: () => gone.abort() };
}
