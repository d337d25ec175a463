// The OpenAPI document for people to read, without anything from another host.

import { element } from "./dom.js";

const VERBS = ["get", "post", "put", "patch", "delete"];

const document_ = await (await fetch("/openapi.json")).json();
const schemas = document_.components.schemas;

const operations = Object.entries(document_.paths).flatMap(([path, verbs]) =>
  VERBS.filter((verb) => verb in verbs).map((verb) => ({ path, verb, ...verbs[verb] })),
);
const tags = [...new Set(operations.map((operation) => operation.tags?.[0] ?? ""))];

document.getElementById("main").append(
  element("p", {}, document_.info.description),
  ...tags.map((tag) =>
    element("section", {}, element("h2", {}, tag), ...operations.filter((one) => one.tags?.[0] === tag).map(shown)),
  ),
  element("section", {}, element("h2", {}, "schemas"), ...Object.entries(schemas).map(schema)),
);

function shown(operation) {
  const body = operation.requestBody?.content?.["application/json"]?.schema;
  return element(
    "details",
    { class: "card" },
    element("summary", {}, element("span", { class: "verb" }, operation.verb.toUpperCase()), element("code", {}, operation.path)),
    element("p", {}, operation.description ?? ""),
    ...(operation.parameters ?? []).map(parameter),
    body ? element("p", {}, "body: ", reference(body)) : null,
    element("ul", {}, ...Object.entries(operation.responses).map(answer)),
  );
}

function parameter(one) {
  const rules = Object.entries(one.schema).filter(([key]) => key !== "title");
  return element(
    "p",
    {},
    element("code", {}, one.name),
    ` in ${one.in}${one.required ? "" : ", optional"}. ${one.description ?? ""} `,
    element("small", {}, rules.map(([key, value]) => `${key}: ${JSON.stringify(value)}`).join(", ")),
  );
}

function answer([status, response]) {
  const content = Object.values(response.content ?? {})[0]?.schema;
  return element("li", {}, `${status} ${response.description} `, content ? reference(content) : null);
}

function reference(part) {
  const name = part.$ref?.split("/").at(-1);
  return name ? element("a", { href: `#${name}` }, name) : element("code", {}, JSON.stringify(part));
}

function schema([name, content]) {
  return element(
    "details",
    { class: "card", id: name },
    element("summary", {}, element("code", {}, name)),
    element("p", {}, content.description ?? ""),
    element("pre", {}, JSON.stringify(content.properties ?? content, null, 2)),
  );
}

// Following a link to a schema opens it.
function openTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target) target.open = true;
}
addEventListener("hashchange", openTarget);
openTarget();
