// Who is at the page: the token lives as long as the tab, so that two tabs may be two people.

const TOKEN = "intent-router.token";

export const token = () => sessionStorage.getItem(TOKEN);
export const keepToken = (value) => sessionStorage.setItem(TOKEN, value);
export const dropToken = () => sessionStorage.removeItem(TOKEN);

// What a person chose for this browser, and what they have seen; null where nothing is kept.
export const remembered = (name) => localStorage.getItem(`intent-router.${name}`);
export const remember = (name, value) => localStorage.setItem(`intent-router.${name}`, value);
