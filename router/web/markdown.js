// Text as people, tools and models write it, as elements: paragraphs, lists, tables, code, bold, links. Whatever
// else stands there stays as it is; nothing in it ever becomes markup of its own.

import { element } from "./dom.js";

const INLINE = /(\*\*[^*\n]+\*\*|`[^`\n]+`|https?:\/\/[^\s<>"'“”’()（）】，。；]*[^\s<>"'“”’()（）】，。；.,:;!?]|\/v1\/files\/[0-9a-z]{24}(?![0-9a-z]))/;
const BULLET = /^\s*[-*•] +/;
const NUMBER = /^\s*\d{1,3}[.)、] +/;
const HEADING = /^#{1,6} +/;
const FENCE = /^```/;
const ROW = /^ {0,3}\|(.*)\|[ \t]*$/;
const RULE = /^:?-+:?$/;

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
  if (isTable(lines)) return table(lines, fileLink);
  if (HEADING.test(line)) return element("p", {}, element("strong", {}, lines.shift().replace(HEADING, "")));
  // A line that begins no table is one of the paragraph, whatever it looks like.
  const first = lines.shift();
  return element("p", {}, ...inline([first, ...taken(lines, plain)].join("\n"), fileLink));
}

const plain = (line) => line.trim() && ![FENCE, BULLET, NUMBER, HEADING, ROW].some((mark) => mark.test(line));

// As router/domain/text_tables.py reads them.
const cells = (line) => (ROW.exec(line ?? "")?.[1] ?? "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function isTable([head, rule]) {
  const marks = cells(rule);
  return ROW.test(head) && marks.length === cells(head).length && marks.every((mark) => RULE.test(mark));
}

function table(lines, fileLink) {
  const [head, marks, ...rows] = taken(lines, (line) => ROW.test(line)).map(cells);
  const right = marks.map((mark) => !mark.startsWith(":") && mark.endsWith(":"));
  const cell = (tag, more) => (text, n) => element(tag, { ...more, class: right[n] ? "amount" : null }, ...inline(text ?? "", fileLink));
  const names = element("tr", {}, ...head.map(cell("th", { scope: "col" })));
  const body = rows.map((row) => element("tr", {}, ...head.map((_, n) => cell("td")(row[n], n))));
  return element("div", { class: "table", tabindex: "0", role: "group" }, element("table", {}, element("thead", {}, names), element("tbody", {}, ...body)));
}

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
