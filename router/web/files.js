// Files: sent for a field of a form, and fetched where a text names one.

import { Problem, fetched, fresh, upload } from "./api.js";
import { element } from "./dom.js";
import { t } from "./texts.js";

const MOST_BYTES = 10 * 1024 * 1024;
const KINDS = "application/pdf,image/png,image/jpeg,image/webp,image/gif,image/heic,.heic,.heif";
const LINK = /(\/v1\/files\/[0-9a-z]{24})(?![0-9a-z])/;

// A file input, and what is in it as a value of a form: what the upload is answered.
export function attaching(attributes) {
  let key = fresh();
  const control = element("input", { type: "file", accept: KINDS, onchange: () => (key = fresh()), ...attributes });
  return { control, value: () => attached(control.files[0], key) };
}

function attached(file, key) {
  // Said here, since ten megabytes take a while to be refused.
  if (file.size > MOST_BYTES) throw new Problem(413, t("tooLarge"));
  return upload("/v1/files", file, key);
}

// A text whose links to files can be followed: the token goes along, which a plain link has none of.
export function withLinks(text, trying) {
  return text.split(LINK).map((part) => (LINK.test(part) ? link(part, trying) : part));
}

function link(path, trying) {
  const onclick = (event) => {
    event.preventDefault();
    trying(() => save(path));
  };
  return element("a", { href: path, onclick }, t("download"));
}

async function save(path) {
  const { name, content } = await fetched(path);
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  // Not at once: some browsers begin to read it only after the click.
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
