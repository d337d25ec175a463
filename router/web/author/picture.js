// The flow as the server draws it, with states that can be pointed at: by a finger, a mouse or keys.

import { drawn } from "../dom.js";
import { t } from "./texts.js";

// What a picture is made of. Its own style sheet stays behind: the page allows none within.
const PARTS = new Set(["svg", "g", "path", "rect", "polygon", "circle", "ellipse", "line", "text", "tspan", "title", "desc", "defs", "marker"]);
const SAID = /^(?:class|d|x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|width|height|points|viewBox|transform|text-anchor|id|refX|refY|markerWidth|markerHeight|markerUnits|orient|marker-end|lang|data-[a-z]+)$/;
const ALONG = { ArrowDown: "out", ArrowUp: "in", ArrowRight: "next", ArrowLeft: "before", Home: "first", End: "last" };

// `chosen(state)` is called with the state that somebody wants to edit.
export function picture(chosen) {
  const view = document.createElement("div");
  view.className = "picture";
  let graph = { nodes: [], edges: [] };
  let source = null;
  let marked = null;
  let stands = null; // the state that Tab comes to

  const states = () => [...view.querySelectorAll("[data-state]")];
  const named = (name) => states().find((one) => one.dataset.state === name);

  // A text that can't be read has no picture: the last one stays, and says that it is the last one.
  function show(examination, current) {
    view.classList.toggle("stale", !examination.picture);
    if (examination.picture && examination.picture !== source) {
      const held = view.contains(document.activeElement);
      ({ picture: source, graph } = examination);
      draw();
      if (held) named(stands)?.focus();
    }
    mark(current, examination.problems);
  }

  function draw() {
    const parsed = new DOMParser().parseFromString(source.replace(/<style>[\s\S]*?<\/style>|\sstyle="[^"]*"/g, ""), "image/svg+xml");
    const svg = copied(parsed.documentElement);
    svg.setAttribute("role", "group");
    svg.removeAttribute("aria-labelledby");
    svg.setAttribute("aria-label", t("picture"));
    svg.setAttribute("aria-description", t("pictureKeys"));
    view.replaceChildren(svg);
    if (!named(stands)) stands = graph.nodes[0]?.id ?? null;
    for (const one of states()) one.setAttribute("role", "button");
    roam(stands);
  }

  function mark(current, problems) {
    const wrong = new Set(problems.filter(({ place }) => place[0] === "states").map(({ place }) => place[1]));
    for (const one of states()) {
      const name = one.dataset.state;
      one.classList.toggle("chosen", name === current);
      one.classList.toggle("wrong", wrong.has(name));
      one.setAttribute("aria-pressed", String(name === current));
      sign(one, wrong.has(name));
      if (name === current && current !== marked) one.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    marked = current;
  }

  function roam(name) {
    stands = name;
    for (const one of states()) one.setAttribute("tabindex", one.dataset.state === name ? "0" : "-1");
  }

  function key(event) {
    const one = event.target.closest("[data-state]");
    if (!one || event.ctrlKey || event.metaKey || event.altKey) return;
    const to = ALONG[event.key] && next(graph, one.dataset.state, ALONG[event.key]);
    if (to) {
      event.preventDefault();
      roam(to);
      named(to).focus();
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      chosen(one.dataset.state);
    }
  }

  view.addEventListener("keydown", key);
  view.addEventListener("click", (event) => {
    const one = event.target.closest("[data-state]");
    if (one) roam(one.dataset.state), chosen(one.dataset.state);
  });

  return { view, show, focus: () => named(stands)?.focus(), stand: (name) => named(name) && roam(name) };
}

// Where a key leads from a state: along its ways, back along those that lead to it, or through the file.
export function next({ nodes, edges }, name, way) {
  const names = nodes.map(({ id }) => id);
  const at = names.indexOf(name);
  const leading = {
    out: () => edges.find(({ source, target }) => source === name && target !== name)?.target,
    in: () => edges.find(({ source, target }) => target === name && source !== name)?.source,
    next: () => names[at + 1],
    before: () => names[at - 1],
    first: () => names[0],
    last: () => names.at(-1),
  };
  return leading[way]();
}

// Whatever it was made from, only drawing comes into the page.
function copied(node) {
  const said = [...node.attributes].filter(({ name }) => SAID.test(name)).map(({ name, value }) => [name, value]);
  const children = [...node.childNodes].filter((one) => one.nodeType === Node.TEXT_NODE || PARTS.has(one.nodeName));
  const below = children.map((one) => (one.nodeType === Node.TEXT_NODE ? one.textContent : copied(one)));
  return drawn(node.nodeName, Object.fromEntries(said), ...below);
}

// A sign at its corner, so that nothing is told by colour alone.
function sign(state, isWrong) {
  const called = state.querySelector("title")?.textContent.replaceAll("\n", ", ") ?? state.dataset.state;
  state.setAttribute("aria-label", isWrong ? `${called}, ${t("hasProblems")}` : called);
  state.querySelector(".sign")?.remove();
  const box = state.querySelector(".box");
  if (!isWrong || !box) return;
  const [x, y] = corner(box);
  state.append(drawn("g", { class: "sign" }, drawn("circle", { cx: x - 4, cy: y + 4, r: 9 }), drawn("text", { x: x - 4, y: y + 8.5, "text-anchor": "middle" }, "!")));
}

// The upper right one, out of what it is drawn from: what isn't on the page yet has no size.
function corner(box) {
  const of = (name) => Number(box.getAttribute(name));
  if (box.nodeName === "rect") return [of("x") + of("width"), of("y")];
  const points = box.getAttribute("points").split(" ").map((point) => point.split(",").map(Number));
  const top = Math.min(...points.map(([, y]) => y));
  return [Math.max(...points.filter(([, y]) => y === top).map(([x]) => x)), top];
}
