// The REST API as the page uses it.

import { Problem, fresh } from "./wire.js";
import { token } from "./session.js";
import { chosen } from "./texts.js";

export const get = (path) => call("GET", path);

// A key makes a repeat of the same press harmless; a new press is a new key.
export const post = (path, body, key = fresh()) => call("POST", path, body, { "Idempotency-Key": key });

export const remove = async (path) => void (await asked("DELETE", path));

export function upload(path, file, key) {
  const body = new FormData();
  body.append("file", file);
  return post(path, body, key);
}

// A file's content, and the name that the server gives it.
export async function fetched(path) {
  const answer = await asked("GET", path);
  const [, name] = /filename\*=UTF-8''([^;]+)/.exec(answer.headers.get("Content-Disposition")) ?? [];
  return { name: decodeURIComponent(name ?? "file"), content: await answer.blob() };
}

// Opens an event stream: its body, from behind the event of this id on.
export const streamed = (path) => async (after, signal) => {
  const headers = { Accept: "text/event-stream", ...(after && { "Last-Event-ID": after }) };
  return (await asked("GET", path, undefined, headers, signal)).body;
};

async function call(method, path, body, extra = {}) {
  const answer = await asked(method, path, body, extra);
  return answer.json().catch(() => {
    throw new Problem(0, ""); // the connection was lost in the middle of the answer
  });
}

async function asked(method, path, body, extra, signal) {
  const headers = { Accept: "application/json", ...extra };
  const asWhom = token();
  if (asWhom) headers.Authorization = `Bearer ${asWhom}`;
  if (chosen()) headers["X-Locale"] = chosen();
  const asItIs = body === undefined || body instanceof FormData;
  if (!asItIs) headers["Content-Type"] = "application/json";
  const options = { method, headers, signal, body: asItIs ? body : JSON.stringify(body) };
  const answer = await fetch(path, options).catch(() => {
    throw new Problem(0, "");
  });
  if (!answer.ok) throw await problemOf(answer, asWhom);
  return answer;
}

async function problemOf(answer, asWhom) {
  const said = await answer.json().catch(() => null);
  return new Problem(answer.status, said?.detail ?? answer.statusText, asWhom);
}
