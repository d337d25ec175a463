// The flow as a whole: what it is called, what it is for, and what starts it.

import { element } from "../dom.js";
import { t } from "./texts.js";

export const aboutShape = (data, kind) => (kind === "triggers" ? JSON.stringify([kind, data.triggers?.roles]) : kind);

export function aboutForm(form) {
  return [
    form.words(t("flowTitle"), ["title"], { required: true }),
    form.words(t("flowDescription"), ["description"], { rows: 2, required: true, hint: t("flowDescriptionHint") }),
    form.lines(t("flowNames"), ["names"], { rows: 2, hint: t("flowNamesHint") }),
    form.lines(t("flowVerbs"), ["verbs"], { rows: 2, hint: t("flowVerbsHint") }),
    form.span(t("idle"), ["idle"], { hint: t("idleHint") }),
  ];
}

export function triggersForm(form, _, data, { vocabulary, impact }) {
  return [
    element("p", { class: "hint" }, t("triggersHint")),
    form.lines(t("examples"), ["triggers", "examples"], { rows: 5, hint: t("examplesHint") }),
    form.lines(t("topics"), ["triggers", "topics"], { rows: 3, hint: t("topicsHint"), code: true }),
    form.order(t("roles"), ["triggers", "roles"], vocabulary.roles.map((role) => [role, role]), { hint: t("rolesHint"), stands: [data.triggers?.roles ?? []].flat(), add: t("addRole") }),
    element("details", {}, element("summary", {}, t("exactly")), form.lines(t("patterns"), ["triggers", "patterns"], { rows: 4, hint: t("patternsHint"), code: true }), form.lines(t("unless"), ["triggers", "unless"], { rows: 3, hint: t("unlessHint"), code: true })),
    impact,
  ];
}
