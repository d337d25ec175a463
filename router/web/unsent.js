// What is typed or attached and not sent yet, by where it belongs: it outlives a reload and another
// language, follows nobody into another conversation, and is forgotten with the tab or by signing out.

import { fresh } from "./wire.js";

const PREFIX = "intent-router.draft.";
const TAB = "intent-router.tab";
const STORE = "files";
const KEPT_FOR = 24 * 60 * 60_000; // milliseconds after which another tab's files are swept away

export const typed = (place) => sessionStorage.getItem(PREFIX + place) ?? "";

export function keepTyped(place, text) {
  if (text) sessionStorage.setItem(PREFIX + place, text);
  else sessionStorage.removeItem(PREFIX + place);
}

// A field that keeps what is typed into it. Its `value` set by the page is for the page to keep.
export function keeping(field, place) {
  field.value = typed(place);
  field.addEventListener("input", () => keepTyped(place, field.value));
  return field;
}

// Files are too large for session storage: a database of the browser's has them, for this tab.
export const attached = async (place) => (await inStore("readonly", (store) => store.get(named(place))))?.files ?? [];

export function keepAttached(place, files) {
  const kept = { at: Date.now(), files };
  return inStore("readwrite", (store) => (files.length ? store.put(kept, named(place)) : store.delete(named(place))));
}

export function forgetUnsent() {
  for (const name of Object.keys(sessionStorage).filter((one) => one.startsWith(PREFIX))) sessionStorage.removeItem(name);
  return inStore("readwrite", (store) => sweep(store, (key) => key.startsWith(tab())));
}

// What tabs that are long gone have left behind.
export const sweepUnsent = () => inStore("readwrite", (store) => sweep(store, (_, { at }) => Date.now() - at > KEPT_FOR));

function sweep(store, isOver) {
  const asked = store.openCursor();
  asked.onsuccess = () => {
    const one = asked.result;
    if (one && isOver(one.key, one.value)) one.delete();
    one?.continue();
  };
  return asked;
}

const named = (place) => `${tab()} ${place}`;

function tab() {
  if (!sessionStorage.getItem(TAB)) sessionStorage.setItem(TAB, fresh());
  return sessionStorage.getItem(TAB);
}

// What the request leads to; nothing where this browser keeps no database, as some private windows don't.
async function inStore(mode, work) {
  const database = await opened();
  if (!database) return undefined;
  return new Promise((resolve) => {
    const transaction = database.transaction(STORE, mode);
    const asked = work(transaction.objectStore(STORE));
    const done = (result) => () => (database.close(), resolve(result?.()));
    transaction.oncomplete = done(() => asked.result);
    transaction.onabort = done();
  });
}

function opened() {
  return new Promise((resolve) => {
    const asked = indexedDB.open("intent-router", 1);
    asked.onupgradeneeded = () => asked.result.createObjectStore(STORE);
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => resolve(null);
  });
}
