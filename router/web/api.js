// The REST API as the page uses it. The token lives as long as the tab, so that two tabs may be two people.

import { events } from "./events.js";

const TOKEN = "intent-router.token";

export class Problem extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const signedIn = () => sessionStorage.getItem(TOKEN);
export const signIn = (token) => sessionStorage.setItem(TOKEN, token);
export const signOut = () => sessionStorage.removeItem(TOKEN);

export const get = (path) => call("GET", path);

// A key makes a repeat of the same press harmless; a new press is a new key.
export const post = (path, body, key = fresh()) => call("POST", path, body, { "Idempotency-Key": key });

export function upload(path, file, key) {
  const body = new FormData();
  body.append("file", file);
  return post(path, body, key);
}

// A file's content, and the name that the server gives it.
export async function fetched(path) {
  const answer = await ask("GET", path);
  if (!answer.ok) throw await problemOf(answer);
  const [, name] = /filename\*=UTF-8''([^;]+)/.exec(answer.headers.get("Content-Disposition")) ?? [];
  return { name: decodeURIComponent(name ?? "file"), content: await answer.blob() };
}

// A message's turn. What happens in it is told meanwhile, by name and data. Where the connection is
// lost, the same message is sent again: the server does nothing twice and answers the same turn.
export async function turnOf(path, body, key, told) {
  const answer = await ask("POST", path, body, { "Idempotency-Key": key, Accept: "text/event-stream" });
  if (!answer.ok) throw await problemOf(answer);
  try {
    for await (const [name, data] of events(answer.body)) {
      if (name === "turn") return data;
      if (name === "error") throw new Problem(data.status, data.detail);
      told(name, data);
    }
  } catch (lost) {
    if (lost instanceof Problem) throw lost;
  }
  return post(path, body, key);
}

export function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function call(method, path, body, extra = {}) {
  const answer = await ask(method, path, body, extra);
  if (!answer.ok) throw await problemOf(answer);
  return answer.json().catch(() => null);
}

function ask(method, path, body, extra) {
  const headers = { Accept: "application/json", ...extra };
  if (signedIn()) headers.Authorization = `Bearer ${signedIn()}`;
  const asItIs = body === undefined || body instanceof FormData;
  if (!asItIs) headers["Content-Type"] = "application/json";
  const options = { method, headers, body: asItIs ? body : JSON.stringify(body) };
  return fetch(path, options).catch(() => {
    throw new Problem(0, "");
  });
}

async function problemOf(answer) {
  const said = await answer.json().catch(() => null);
  return new Problem(answer.status, said?.detail ?? answer.statusText);
}
