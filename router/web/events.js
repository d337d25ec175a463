// Server-sent events, followed for as long as somebody looks: what is missed is caught up with.

import { Problem } from "./wire.js";

const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 15_000;
const SILENCE = 40_000; // the server says `ping` every 15 seconds
const OUT_OF_SIGHT = 60_000; // a browser opens only six connections to a host, all tabs together

// Follow the stream that `open(after, signal)` gives until `signal` says otherwise: `heard(name, data)` for each event, and
// `connected(whether)` as the connection comes and goes. Ends with a Problem that asking again won't mend.
export async function follow(open, after, { heard, connected }, signal) {
  let pause = FIRST_PAUSE;
  while (!signal.aborted) {
    await seen(signal);
    try {
      for await (const event of events(open, after, signal)) {
        if (signal.aborted) return;
        after = event.id ?? after;
        pause = FIRST_PAUSE;
        connected(true);
        heard(event.name, event.data);
      }
    } catch (lost) {
      if (signal.aborted) return;
      if (!(lost instanceof Problem) || !(lost.passes || lost.status === 429)) throw lost;
      connected(false);
    }
    await rest(pause * (0.75 + Math.random() / 2), signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

async function* events(open, after, signal) {
  const cut = new AbortController();
  const giveUp = () => cut.abort();
  let timer;
  const looking = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(giveUp, OUT_OF_SIGHT);
  };
  signal.addEventListener("abort", giveUp);
  document.addEventListener("visibilitychange", looking);
  try {
    yield* parsed(await open(after, cut.signal));
  } finally {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", looking);
    signal.removeEventListener("abort", giveUp);
    cut.abort();
  }
}

async function* parsed(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await readInTime(reader);
    if (done) return;
    const blocks = (text + value).split("\n\n");
    text = blocks.pop();
    yield* blocks.filter((block) => block.includes("data: ")).map(event);
  }
}

// What comes next; a connection that is lost or silent has ended.
async function readInTime(reader) {
  let timer;
  const silent = new Promise((resolve) => (timer = setTimeout(resolve, SILENCE, { done: true })));
  try {
    return await Promise.race([reader.read(), silent]);
  } catch {
    return { done: true };
  } finally {
    clearTimeout(timer);
  }
}

function event(block) {
  const fields = block.split("\n").map((line) => line.split(/: (.*)/s, 2));
  const { event: name, data, id } = Object.fromEntries(fields);
  return { name, data: JSON.parse(data), id };
}

// Wait so many milliseconds, or less where the network comes back or nobody waits any more.
export function rest(milliseconds, signal) {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      removeEventListener("online", go);
      signal?.removeEventListener("abort", go);
      resolve();
    };
    const timer = setTimeout(go, milliseconds);
    addEventListener("online", go);
    signal?.addEventListener("abort", go);
  });
}

function seen(signal) {
  if (!document.hidden || signal.aborted) return undefined;
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden && !signal.aborted) return;
      document.removeEventListener("visibilitychange", look);
      signal.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    signal.addEventListener("abort", look);
  });
}

// The text that its deltas make up; one of another attempt begins it anew.
export function writing() {
  let text = "";
  let attempt = null;
  return (delta) => {
    text = (delta.attempt === attempt ? text : "") + delta.text;
    attempt = delta.attempt;
    return text;
  };
}

// A function that does `work` once for however often it is called meanwhile, and once more after.
export function coalesced(work) {
  let running = null;
  let again = false;
  const run = async () => {
    do {
      again = false;
      await work();
    } while (again);
  };
  return () => {
    again = running !== null;
    running ??= run().finally(() => (running = null));
    return running;
  };
}
