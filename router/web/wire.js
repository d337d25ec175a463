// Requests to the REST API: as whom they are made, how they fail, and what tells one from its repeat.

const LONGEST_WAIT = 30; // seconds

export class Problem extends Error {
  constructor(status, detail, asWhom = null, errors = [], retryAfter = 0) {
    super(detail);
    this.status = status;
    this.errors = errors; // what is wrong with which part of what was sent
    this.asWhom = asWhom; // the token it was asked with
    this.retryAfter = retryAfter; // seconds after which the server wants to be asked again
  }

  // True where the server may answer if it is asked again: it is out of reach, or not ready yet.
  get passes() {
    return this.status === 0 || [502, 503, 504].includes(this.status);
  }

  // True if the server is there but too busy, and will take the same request in a moment.
  get isBusy() {
    return this.status === 429 && this.retryAfter > 0 && this.retryAfter <= LONGEST_WAIT;
  }

  // Milliseconds to wait before the next try, of which the client alone would wait `pause`.
  waits(pause) {
    return Math.max(pause, 1000 * Math.min(this.retryAfter, LONGEST_WAIT));
  }
}

export function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Asks the API at `base` as whoever `bearer()` says, in the language of `locale()`, where it says one.
// One that `renews` is asked for another bearer once, `{ again: true }`, where the first was refused.
export function connection({ bearer, locale, base = "", renews = false, ...options }) {
  const get = (path) => call("GET", path);

  // A key makes a repeat of the same press harmless; a new press is a new key.
  const post = (path, body, key = fresh()) => call("POST", path, body, { "Idempotency-Key": key });

  // What is sent again leaves what the first has left: no key is needed.
  const put = (path, body) => call("PUT", path, body);
  const patch = (path, body) => call("PATCH", path, body);

  const remove = async (path) => void (await asked("DELETE", path));

  function upload(path, file, key) {
    const body = new FormData();
    body.append("file", file);
    return post(path, body, key);
  }

  // A file's content, and the name that the server gives it.
  async function fetched(path) {
    const answer = await asked("GET", path);
    const [, name] = /filename\*=UTF-8''([^;]+)/.exec(answer.headers.get("Content-Disposition")) ?? [];
    return { name: decodeURIComponent(name ?? "file"), content: await answer.blob() };
  }

  // Opens an event stream: its body, from behind the event of this id on.
  const streamed = (path) => async (after, signal) => {
    const headers = { Accept: "text/event-stream", ...(after && { "Last-Event-ID": after }) };
    return (await asked("GET", path, undefined, headers, signal)).body;
  };

  async function call(method, path, body, extra) {
    const answer = await asked(method, path, body, extra);
    return answer.json().catch(() => {
      throw new Problem(0, ""); // the connection was lost in the middle of the answer
    });
  }

  async function asked(method, path, body, extra, signal, again = false) {
    const headers = { Accept: "application/json", ...extra };
    const asWhom = await bearer({ again });
    if (asWhom) headers.Authorization = `Bearer ${asWhom}`;
    if (locale()) headers["X-Locale"] = locale();
    const asItIs = body === undefined || body instanceof FormData;
    if (!asItIs) headers["Content-Type"] = "application/json";
    const sending = { ...options, method, headers, signal, body: asItIs ? body : JSON.stringify(body) };
    const answer = await fetch(base + path, sending).catch(() => {
      throw new Problem(0, "");
    });
    if (answer.status === 401 && renews && !again) return asked(method, path, body, extra, signal, true);
    if (!answer.ok) throw await problemOf(answer, asWhom);
    return answer;
  }

  return { get, post, put, patch, remove, upload, fetched, streamed };
}

async function problemOf(answer, asWhom) {
  const said = await answer.json().catch(() => null);
  const retryAfter = Number(answer.headers.get("Retry-After")) || 0;
  return new Problem(answer.status, said?.detail ?? answer.statusText, asWhom, said?.errors ?? [], retryAfter);
}
