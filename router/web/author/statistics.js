// How a flow goes, on its picture and as tables: over some days, of every version or of one.

import { get } from "../api.js";
import { number, orNone, share, table } from "../charts.js";
import { button, element, labelled } from "../dom.js";
import { picture, save } from "../files.js";
import { date, hours } from "../times.js";
import { statusName } from "../words.js";
import { t } from "./texts.js";

const PERIODS = [7, 30, 90];
const GIVEN_UP = ["cancelled", "expired", "failed", "silent"];

export function statistics(flow, page) {
  const path = `/v1/flow-statistics/${encodeURIComponent(flow)}`;
  const body = element("div", { class: "figures" });
  const versions = element("select", { onchange: () => page.trying(load) });
  const buttons = PERIODS.map((days) => [days, button(t("lastDays", days), () => page.trying(() => ((chosen = days), load())), { "aria-pressed": "false" })]);
  let chosen = 30;

  async function load() {
    for (const [days, one] of buttons) one.setAttribute("aria-pressed", String(days === chosen));
    const query = `days=${chosen}${versions.value && `&version=${versions.value}`}`;
    const found = await get(`${path}?${query}`);
    const drawing = found.versions.length ? await picture(`${path}/picture?${query}`, t("goesOf", flow)) : null;
    choices(found);
    body.replaceChildren(...(found.versions.length ? parts(found, drawing, query) : [element("p", { class: "hint" }, t("nothingCounted"))]));
  }

  // The versions there were on these days; the one that is chosen stays among them.
  function choices(found) {
    const held = versions.value;
    const option = (value, words) => element("option", { value }, words);
    const known = new Set([...found.versions.map(({ version }) => String(version)), ...(held ? [held] : [])]);
    versions.replaceChildren(option("", t("everyVersion")), ...[...known].map((one) => option(one, t("theVersion", one))));
    versions.value = held;
  }

  function parts(found, drawing, query) {
    const tables = [
      ["versions", [[t("version"), (row) => String(row.version)], [t("begunRuns"), (row) => number(row.begun)], [t("underWay"), (row) => number(row.under_way)], ...["completed", "rejected", "cancelled", "expired"].map((status) => [statusName(status), (row) => number(row[status])])]],
      ["states", [[t("state"), (row) => row.state], [t("entered"), (row) => number(row.entered)], [t("half"), (row) => orNone(row.median_hours, hours)], [t("most"), (row) => orNone(row.p90_hours, hours)], [t("sentBack"), (row) => number(row.returned)], [t("leftHere"), leftHere]]],
      ["slots", [[t("slot"), (row) => row.slot], [t("askedIn"), (row) => number(row.runs)], [t("askedAgain"), (row) => number(row.again)]]],
      ["approvers", [[t("approver"), (row) => page.nameOf(row.person)], [t("decidedRuns"), (row) => number(row.decided)], [t("sentBack"), (row) => number(row.sent_back)], [t("half"), (row) => orNone(row.median_hours, hours)], [t("most"), (row) => orNone(row.p90_hours, hours)]]],
      ["reasons", [[t("reason"), (row) => row.reason], [t("state"), (row) => row.state, true], [t("times"), (row) => number(row.times)]]],
    ];
    const shown = tables.filter(([name]) => found[name]?.length);
    const sections = shown.map(([name, columns]) => element("section", {}, element("h3", {}, t(`table_${name}`)), table(t(`table_${name}`), columns, found[name])));
    const saving = (name) => button(t("csv", t(`table_${name}`)), () => page.trying(() => save(`${path}.csv?${query}&table=${name}`)));
    return [
      element("p", { class: "hint" }, t("periodIs", date(found.since), date(found.until), found.timezone)),
      drawing && element("div", { class: "diagram", tabindex: "0", role: "region", "aria-label": t("goesOf", flow) }, drawing),
      ...sections,
      element("div", { class: "actions" }, ...[...shown.map(([name]) => name), "ways", "days"].map(saving)),
    ].filter(Boolean);
  }

  const period = element("div", { class: "actions", role: "group", "aria-label": t("period") }, ...buttons.map(([, one]) => one));
  return { view: element("div", {}, period, labelled(t("version"), versions), body), load };
}

// How many were given up there, and how.
function leftHere(row) {
  const ways = GIVEN_UP.filter((way) => row[way]);
  const all = ways.reduce((sum, way) => sum + row[way], 0);
  const named = ways.map((way) => `${way === "silent" ? t("silent") : statusName(way)} ${number(row[way])}`);
  return all ? `${share(all, row.entered)} (${named.join(", ")})` : number(0);
}
