// Text as people and models write it, as elements: paragraphs, lists, code, bold, links. Whatever
// else stands there stays as it is; nothing in it ever becomes markup of its own.

import { element } from "./dom.js";

const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|https?:\/\/[^\s<>"'“”’()（）】，。；]*[^\s<>"'“”’()（）】，。；.,:;!?]|\/v1\/files\/[0-9a-z]{24}(?![0-9a-z]))/;
const BULLET = /^\s*[-*•] +/;
const NUMBER = /^\s*\d{1,3}[.)、] +/;
const HEADING = /^#{1,6} +/;
const FENCE = /^```/;

// `fileLink(path)` makes the link to a file of the router's, which needs the token.
export function rich(text, fileLink) {
  const blocks = [];
  const lines = text.split("\n");
  while (lines.length) blocks.push(block(lines, fileLink));
  return blocks.filter(Boolean);
}

function block(lines, fileLink) {
  const line = lines[0];
  if (!line.trim()) return lines.shift() && null;
  if (FENCE.test(line)) return code(lines);
  if (BULLET.test(line)) return list("ul", BULLET, lines, fileLink);
  if (NUMBER.test(line)) return list("ol", NUMBER, lines, fileLink);
  if (HEADING.test(line)) return element("p", {}, element("strong", {}, lines.shift().replace(HEADING, "")));
  return element("p", {}, ...inline(taken(lines, plain).join("\n"), fileLink));
}

const plain = (line) => line.trim() && ![FENCE, BULLET, NUMBER, HEADING].some((mark) => mark.test(line));

// The lines from the first on for which it holds; they are gone from `lines`.
function taken(lines, holds) {
  const end = lines.findIndex((line) => !holds(line));
  return lines.splice(0, end < 0 ? lines.length : end);
}

function code(lines) {
  lines.shift();
  const body = taken(lines, (line) => !FENCE.test(line));
  lines.shift();
  return element("pre", { tabindex: "0" }, element("code", {}, body.join("\n")));
}

function list(tag, mark, lines, fileLink) {
  const start = tag === "ol" ? { start: parseInt(lines[0], 10) } : {};
  const items = taken(lines, (line) => mark.test(line));
  return element(tag, start, ...items.map((item) => element("li", {}, ...inline(item.replace(mark, ""), fileLink))));
}

function inline(text, fileLink) {
  return text.split(INLINE).filter(Boolean).map((part) => marked(part, fileLink));
}

function marked(part, fileLink) {
  if (!INLINE.test(part)) return part;
  if (part.startsWith("**")) return element("strong", {}, part.slice(2, -2));
  if (part.startsWith("`")) return element("code", {}, part.slice(1, -1));
  if (part.startsWith("/")) return fileLink(part);
  return element("a", { href: part, target: "_blank", rel: "noopener noreferrer" }, part);
}
