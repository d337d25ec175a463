// How people come in: as anybody of the sample in `dev` (none of whom a browser is told that never had the token), by the company's account, or with a token.

import { button, element, labelled } from "./dom.js";
import { leaveToSignIn } from "./oidc.js";
import { avatar } from "./runs.js";
import { t } from "./texts.js";

// `enter(token)` goes on with it; `people` are whom one may be, `provider` where accounts are.
export function signIn({ people, provider, enter, complain }) {
  if (people?.length === 0) return card(t("signInTo"), element("p", { class: "hint" }, t("openPrinted")));
  if (people) return card(t("signInAs"), element("p", { class: "hint" }, t("signInHint")), cards(people, enter));
  if (provider) return card(t("signInTo"), company(provider, complain));
  return card(t("signInTo"), typed(enter));
}

const card = (title, ...parts) => element("section", { class: "card welcome" }, element("h1", { tabindex: "-1" }, title), ...parts);

function cards(people, enter) {
  const one = (person) => {
    const roles = element("small", {}, person.roles.filter((role) => role !== "employee").join(", ") || person.id);
    const made = button("", () => enter(person.id), { class: "person" });
    made.append(avatar(person.name, person.id), element("span", {}, person.name, roles));
    return made;
  };
  return element("div", { class: "people" }, ...people.map(one));
}

function company(provider, complain) {
  const go = () => leaveToSignIn(provider).catch((problem) => complain(`${t("signInFailed")}: ${problem.message}`));
  return button(t("company"), go, { class: "primary" });
}

function typed(enter) {
  const token = element("input", { type: "password", required: true, autocomplete: "off" });
  const onsubmit = (event) => (event.preventDefault(), enter(token.value.trim()));
  return element("form", { onsubmit }, labelled(t("token"), token), button(t("signIn"), null, { type: "submit", class: "primary" }));
}
