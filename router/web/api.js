// The REST API as the page uses it. The token lives as long as the tab, so that two tabs may be two people.

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

export function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function call(method, path, body, extra = {}) {
  const headers = { Accept: "application/json", ...extra };
  if (signedIn()) headers.Authorization = `Bearer ${signedIn()}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options = { method, headers, body: body === undefined ? undefined : JSON.stringify(body) };
  const answer = await fetch(path, options).catch(() => {
    throw new Problem(0, "");
  });
  const said = await answer.json().catch(() => null);
  if (!answer.ok) throw new Problem(answer.status, said?.detail ?? answer.statusText);
  return said;
}
