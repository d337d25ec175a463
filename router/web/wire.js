// What all requests have in common: how they fail, and what tells one from its repeat.

export class Problem extends Error {
  constructor(status, detail, asWhom = null) {
    super(detail);
    this.status = status;
    this.asWhom = asWhom; // the token it was asked with
  }

  // True where the server may answer if it is asked again: it is out of reach, or not ready yet.
  get passes() {
    return this.status === 0 || [502, 503, 504].includes(this.status);
  }
}

export function fresh() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
