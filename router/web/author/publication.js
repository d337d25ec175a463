// What becomes of a draft that was submitted: a second person's review, a share of people, and the way back.

import { get, patch, post, remove } from "../api.js";
import { button, element, labelled, twice, unfolding } from "../dom.js";
import { fileLink, save } from "../files.js";
import { moment } from "../times.js";
import { differing } from "./difference.js";
import { language } from "../texts.js";
import { t } from "./texts.js";

const SHOWN = 5; // reviews of one flow, besides those that somebody has to do something with
const WAITING = ["open", "approved"];
const NOTHING = { holds: null, upcoming: [], before: [], running: [] };
const SHARES = [5, 10, 25, 50, 100];

export const storiesTold = ({ passed, failed }) => t("storiesTold", passed, failed);

// How much of the flow its stories take, and by name what none does.
export function coverageTold({ share, states, transitions, missing }) {
  const taken = t("coverage", Math.floor(share), states.taken, states.of, transitions.taken, transitions.of);
  return element("div", { class: "coverage hint" }, element("p", {}, taken), missing.length ? unfolding(t("notCovered", missing.length), () => element("ul", {}, ...missing.map((one) => element("li", {}, one)))) : null);
}

// `holds()` is false of a flow that is somebody's draft and nothing else yet; `restored(document)` has the draft
// say what that version says.
export function publication(name, { page, holds, isDrafted = () => false, restored }) {
  const reviews = element("div", { class: "part", "aria-live": "polite" });
  const held = element("div", { class: "part", "aria-live": "polite" });
  const drawn = element("p", { hidden: true }, fileLink(`/v1/flow-drafts/${encodeURIComponent(name)}/bpmn?locale=${language()}`, page.trying, t("asBpmn")));
  const view = element("div", { class: "publication" }, element("h3", {}, t("review")), element("div", { class: "actions" }, button(t("reload"), () => page.trying(load))), reviews, element("h3", {}, t("published")), held, drawn);
  const flow = encodeURIComponent(name);
  const listing = `/v1/flow-reviews?flow=${flow}`;

  async function load() {
    const { items, next } = await get(listing);
    const mine = items.filter((one, n) => n < SHOWN || (WAITING.includes(one.status) && !one.outdated));
    const left = items.filter((one) => !mine.includes(one));
    // Of what nobody has seen yet there is nothing to ask.
    const isKnown = holds() || mine.length > 0;
    const [first, standing] = await Promise.all([mine.length ? whole(mine[0]) : null, isKnown ? get(`/v1/flow-publications/${flow}`) : NOTHING]);
    reviews.replaceChildren(...mine.map((one, n) => card(n ? one : first, n === 0)));
    reviews.append(...earlier(left, next));
    held.replaceChildren(...published(standing));
    drawn.hidden = !holds() && !isDrafted();
  }

  // What is left of a page, and the pages behind it.
  function earlier(left, next) {
    if (!left.length && next === null) return [];
    const more = button(t("earlierReviews"), () => page.trying(async () => {
      const found = left.length ? { items: left, next } : await get(`${listing}&after=${encodeURIComponent(next)}`);
      more.replaceWith(...found.items.map((one) => card(one, false)), ...earlier([], found.next));
    }));
    return [more];
  }

  const whole = ({ id }) => get(`/v1/flow-reviews/${encodeURIComponent(id)}`);

  function card(review, first) {
    const mine = review.author === page.me.id;
    const said = element("p", {}, element("strong", {}, t(`review_${review.status}`)), ` · ${t("versionBy", review.version, page.nameOf(review.author))} · ${moment(review.submitted_at)}`);
    const why = [review.note && element("q", {}, review.note), review.comment && element("p", {}, `${page.nameOf(review.reviewer)}: `, element("q", {}, review.comment)), review.outdated && element("p", { class: "notice" }, t("reviewOutdated"))];
    const acts = { open: mine ? withdrawing(review) : deciding(review), approved: publishing(review) }[review.status] ?? null;
    return element("article", { class: "card review" }, said, ...why, first ? difference(review) : unfolding(t("difference"), async () => (await page.trying(async () => difference(await whole(review)))) ?? []), acts);
  }

  // What would be other by it.
  function difference({ id, difference: found, stories: told, coverage }) {
    const patched = button(t("asPatch"), () => page.trying(() => save(`/v1/flow-reviews/${encodeURIComponent(id)}/patch`)), { class: "link" });
    return element("div", {}, element("p", {}, storiesTold(told)), coverage && coverageTold(coverage), element("h4", {}, t("difference")), differing(found, patched));
  }

  const path = (review, what) => `/v1/flow-reviews/${encodeURIComponent(review.id)}/${what}`;

  function deciding(review) {
    const comment = element("textarea", { rows: "2", maxlength: "2000" });
    const decide = (decision) => page.trying(async () => {
      await post(path(review, "decision"), { decision, comment: comment.value.trim() });
      page.say(t(decision === "approve" ? "reviewApproved" : "reviewRefused"));
      await load();
    });
    return element("div", { class: "part" }, labelled(t("comment"), comment), element("div", { class: "actions" }, button(t("approveReview"), () => decide("approve"), { class: "primary" }), button(t("refuseReview"), () => decide("refuse"), { class: "danger" })));
  }

  function withdrawing(review) {
    const withdraw = () => page.trying(async () => {
      await post(path(review, "withdrawal"));
      await load();
    });
    return element("div", { class: "part" }, element("p", { class: "hint" }, t("waitsForReview")), element("div", { class: "actions" }, button(t("withdrawReview"), withdraw)));
  }

  const shareOptions = () => SHARES.map((share) => element("option", { value: String(share) }, share === 100 ? t("everybody") : t("shareOf", share)));

  function publishing(review) {
    const share = element("select", {}, ...shareOptions());
    const at = element("input", { type: "datetime-local" });
    share.value = "100";
    const onsubmit = (event) => {
      event.preventDefault();
      page.trying(async () => {
        const when = at.value ? new Date(at.value).toISOString() : null;
        await post(`/v1/flow-publications/${flow}`, { review: review.id, at: when, share: Number(share.value) });
        page.say(t("wasPublished"));
        await load();
      });
    };
    return element("form", { class: "part publishing", onsubmit }, labelled(t("toWhomPublished"), share), labelled(t("fromWhen"), at), button(t("publishIt"), null, { type: "submit", class: "primary" }));
  }

  function published({ holds: now, others, upcoming, before, running, unfit }) {
    const by = (one) => (one.published_by ? page.nameOf(one.published_by) : t("fromFile"));
    const line = (one) => [t("versionBy", one.version ?? "–", by(one)), one.at && moment(one.at), one.share < 100 && t("shareOf", one.share), one.taken_back_by && t("takenBackBy", page.nameOf(one.taken_back_by))].filter(Boolean).join(" · ");
    const stands = now ? [element("p", {}, element("strong", {}, t("holdsNow")), ` ${line(now)} `, restoring(now)), others && element("p", {}, t("othersHave", line(others)), " ", restoring(others)), sharing(now), now.published_by && rolling(before, upcoming)] : [element("p", { class: "hint" }, t("nothingPublished"))];
    const next = upcoming.map((one) => element("p", {}, `${t("upcoming")} ${line(one)} `));
    const callOff = next.length ? [button(t("callOff"), () => act(() => remove(`/v1/flow-publications/${flow}/upcoming`), "calledOff"))] : [];
    const runs = running.map((one) => element("li", {}, t("runsOn", one.version, one.runs)));
    const past = before.map((one) => element("li", {}, line(one), " ", restoring(one)));
    const misfit = unfit ? [element("p", { class: "notice" }, t("unfit", unfit))] : [];
    return [...misfit, ...stands.filter(Boolean), ...next, ...callOff, ...(runs.length ? [element("h4", {}, t("running")), element("ul", {}, ...runs)] : []), ...(past.length ? [unfolding(t("beforeIt"), () => element("ul", {}, ...past))] : [])];
  }

  // Where the flow was taken out of use there is nothing to write.
  const restoring = (one) => (one.version === null ? null : button(t("draftOfVersion"), () => page.trying(() => restored(one)), { class: "link", "aria-label": t("draftOfVersionBy", one.version) }));

  const act = (work, told) => page.trying(async () => {
    await work();
    page.say(t(told));
    await load();
  });

  function sharing(now) {
    if (now.share === 100) return null;
    const share = element("select", {}, ...shareOptions());
    share.value = String(now.share);
    return element("div", { class: "actions" }, labelled(t("toWhomPublished"), share), button(t("changeShare"), () => act(() => patch(`/v1/flow-publications/${flow}`, { share: Number(share.value) }), "shareChanged")));
  }

  function rolling(before, upcoming) {
    const back = before[0]?.version ? t("reallyRollBack", before[0].version) : t("reallyRollBackFirst");
    const asked = [back, ...upcoming.map((one) => t("rollBackCallsOff", one.version ?? "–", moment(one.at)))].join(" ");
    return twice(t("rollBack"), asked, { yes: t("rollBack"), no: t("neverMind") }, () => act(() => post(`/v1/flow-publications/${flow}/rollback`), "rolledBack"), { class: "danger" });
  }

  return { view, load };
}
