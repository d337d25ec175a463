// Where two texts of a flow differ: in words, as pictures, and as text.

import { element, unfolding } from "../dom.js";
import { t } from "./texts.js";

// `more` stands below it.
export function differing({ effects, words, before, after, text, stories, stories_removed: gone }, ...more) {
  const said = words.length ? element("ul", { class: "words-of" }, ...words.map((one) => element("li", {}, one))) : element("p", { class: "hint" }, t("noDifference"));
  const pictures = [["before", before], ["after", after]].filter(([, svg]) => svg);
  const figure = ([when, svg]) => element("figure", {}, element("figcaption", {}, t(when)), drawing(svg, t(`picture_${when}`)));
  return element(
    "div",
    { class: "difference" },
    effects.length ? element("ul", { class: "effects" }, ...effects.map((one) => element("li", {}, one))) : null,
    said,
    pictures.length ? unfolding(t("asPictures"), () => element("div", { class: "sidebyside" }, ...pictures.map(figure))) : null,
    text ? unfolding(t("asText"), () => diffed(text)) : null,
    gone.length ? element("p", { class: "notice" }, t("storiesRemoved", gone.join(", "))) : null,
    stories ? unfolding(t("storiesAsText"), () => diffed(stories)) : null,
    ...more,
  );
}

const diffed = (text) => element("pre", { class: "diff", tabindex: "0" }, ...text.split("\n").map(diffLine));

const diffLine = (line) => element("span", { class: { "+": "added", "-": "gone" }[line[0]] ?? null }, `${line}\n`);

function drawing(svg, description) {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  return element("img", { src: url, alt: description, onload: () => URL.revokeObjectURL(url) });
}
