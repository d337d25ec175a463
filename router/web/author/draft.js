// One author's draft of a flow: its text and stories, what is said of it, its undo, and its saving.
// The server makes every edit in the text itself, so that the forms and the YAML are one truth.

import { get, post, put } from "../api.js";
import { Problem } from "../wire.js";

const SAVES_AFTER = 800; // milliseconds without a change
const READS_AFTER = 350; // milliseconds without a key in the YAML
const STEPS = 200; // that can be undone
const ONE_STEP = 1500; // milliseconds within which changes of one place are one step back

const NOTHING = { problems: [], remarks: [], data: null, graph: { nodes: [], edges: [] }, picture: null };

export const isBehind = (problem) => problem instanceof Problem && problem.status === 409;

// What stands at a place of plain data; undefined where nothing does.
export const valueAt = (data, place) => place.reduce((within, key) => within?.[key], data);

export const within = (place, outer) => outer.every((key, at) => place[at] === key);

// An edit below what isn't there yet sets that whole.
export function lifted(edit, data) {
  if (edit.op !== "set") return edit;
  let { place, value } = edit;
  while (place.length > 1 && [undefined, null].includes(valueAt(data, place.slice(0, -1)))) {
    value = { [place.at(-1)]: value };
    place = place.slice(0, -1);
  }
  return { ...edit, place, value };
}

export function draftOf(shown, { changed, told, minding }) {
  const { flow } = shown;
  let { text, stories, revision, base, holds, others, outdated } = shown;
  let examination = shown.examination ?? NOTHING;
  let kept = { text, stories };
  let standing = revision ? "saved" : "unchanged";
  let steps = [];
  let undone = [];
  let merged = { key: null, at: 0 };
  let queue = Promise.resolve();
  let underWay = Promise.resolve();
  let isSaving = false; // whatever was typed since
  let saving = null;
  let reading = null;
  let asked = 0;

  const stand = (how) => {
    standing = how;
    told();
  };

  function took(next, found, key = null) {
    if (!isHere(next)) {
      const goesOn = key !== null && key === merged.key && Date.now() - merged.at < ONE_STEP;
      if (!goesOn) steps = [...steps, here()].slice(-STEPS);
      merged = { key, at: Date.now() };
      undone = [];
      ({ text, stories } = next);
    }
    if (found) examination = found;
    changed();
    plan();
  }

  // One after the other: `edits` may be a function of the data that those before have left. An edit of a text
  // that somebody typed in meanwhile is made anew in that. What is renamed is renamed in the stories too; what
  // its author has to look at then is what this comes to.
  function edit(edits, key = null) {
    const work = async () => {
      for (;;) {
        const before = here();
        const wanted = typeof edits === "function" ? edits(examination.data) : edits;
        if (!wanted.length) return void untouched();
        const whole = wanted.map((one) => lifted(one, examination.data));
        const made = await post("/v1/flow-drafts/edits", { flow, ...before, edits: whole });
        if (!isHere(before)) continue;
        asked += 1; // what is still being read of an older text is no news
        took({ text: made.text, stories: made.stories }, made.examination, key);
        return made.look;
      }
    };
    const done = queue.then(work);
    queue = done.catch(() => {});
    return done;
  }

  // The text as somebody types it: read once they pause.
  function write(next) {
    took({ text: next, stories }, null, "text");
    clearTimeout(reading);
    reading = setTimeout(() => minding(examine), READS_AFTER);
  }

  async function examine() {
    const mine = ++asked;
    const found = await post("/v1/flow-drafts/examination", { flow, text });
    if (mine !== asked) return;
    examination = found;
    changed();
  }

  function moved(from, to) {
    const back = [...to, here()];
    ({ text, stories } = from.at(-1));
    merged = { key: null, at: 0 };
    plan();
    minding(examine);
    return back;
  }

  function undo() {
    if (!steps.length) return;
    const from = steps;
    undone = moved(from, undone);
    steps = from.slice(0, -1);
    changed();
  }

  function redo() {
    if (!undone.length) return;
    const from = undone;
    steps = moved(from, steps);
    undone = from.slice(0, -1);
    changed();
  }

  function keepStories(next) {
    took({ text, stories: next }, null);
  }

  // Somebody types what isn't an edit yet; and then it is none.
  const touched = () => ["saved", "unchanged"].includes(standing) && stand("unsaved");
  const untouched = () => isKept() && standing === "unsaved" && stand(revision ? "saved" : "unchanged");

  const here = () => ({ text, stories });
  const isHere = (one) => one.text === text && one.stories === stories;
  const isKept = () => isHere(kept);

  function plan() {
    if (isKept() || standing === "behind") return void untouched();
    stand("unsaved");
    clearTimeout(saving);
    saving = setTimeout(() => minding(save), SAVES_AFTER);
  }

  // One at a time, each with the revision that the one before has left.
  function save() {
    clearTimeout(saving);
    const done = underWay.then(keep);
    underWay = done.catch(() => {});
    return done;
  }

  async function keep() {
    await queue;
    if (isKept() || standing === "behind") return;
    const sent = here();
    isSaving = true;
    stand("saving");
    try {
      const saved = await put(`/v1/flow-drafts/${encodeURIComponent(flow)}`, { ...sent, revision });
      ({ revision, base, holds, others, outdated } = saved);
      kept = sent;
    } catch (problem) {
      stand(isBehind(problem) ? "behind" : "failed");
      if (!isBehind(problem)) throw problem;
      return;
    } finally {
      isSaving = false;
    }
    stand("saved");
    if (!isKept()) plan();
  }

  // Its author has looked at what held when it was last looked for: the draft goes on from there.
  function goOn() {
    const done = save().then(async () => {
      if (!isKept()) return;
      const saved = await put(`/v1/flow-drafts/${encodeURIComponent(flow)}`, { ...kept, revision, over: holds.digest });
      ({ revision, base, holds, others, outdated } = saved);
      stand("saved");
    });
    underWay = done.catch(() => {});
    return done;
  }

  // The draft says what a version says, over what holds by now; one step back is what it said before.
  function restore(document) {
    const done = save().then(async () => {
      if (!isKept()) return;
      const saved = await post(`/v1/flow-drafts/${encodeURIComponent(flow)}/restoration`, { document, revision });
      ({ revision, base, holds, others, outdated } = saved);
      kept = { text: saved.text, stories: saved.stories };
      took(kept, saved.examination);
      stand("saved");
    });
    underWay = done.catch(() => {});
    return done;
  }

  // How what is here differs from what holds (`held`), or from what another window has saved (`draft`).
  const differs = (over) => post(`/v1/flow-drafts/${encodeURIComponent(flow)}/difference`, { ...here(), over });

  // Who else is at it, and whether what holds has changed.
  async function look() {
    const now = await get(`/v1/flow-drafts/${encodeURIComponent(flow)}`);
    ({ holds, others, outdated } = now);
    if (now.revision > revision && !isSaving) return stand("behind");
    return told();
  }

  // After another window has saved: its words hold, or those here.
  async function settle(mine) {
    const now = await get(`/v1/flow-drafts/${encodeURIComponent(flow)}`);
    ({ revision, base, holds, others, outdated } = now);
    kept = { text: now.text, stories: now.stories };
    standing = "unsaved";
    if (mine) return save();
    took(kept, now.examination);
    return stand("saved");
  }

  return {
    flow,
    edit,
    write,
    touched,
    untouched,
    undo,
    redo,
    save,
    look,
    differs,
    settle,
    goOn,
    restore,
    keepStories,
    get text() { return text; },
    get stories() { return stories; },
    get data() { return examination.data; },
    get examination() { return examination; },
    get standing() { return standing; },
    get others() { return others; },
    get outdated() { return outdated; },
    get base() { return base; },
    get holds() { return holds; },
    get isSaved() { return isKept() && revision > 0; },
    get undoes() { return steps.length > 0; },
    get redoes() { return undone.length > 0; },
    // Once all of it is kept: what is shown of it before that would be saved over it.
    close: () => (clearTimeout(reading), minding(save)),
  };
}
