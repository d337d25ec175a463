// Signing in by OpenID Connect: the code flow with PKCE, as a client that can keep no secret.

const FLOW = "intent-router.signing-in";

// Leave for the provider's page; it sends the person back here.
export async function leaveToSignIn(provider) {
  const { authorization_endpoint } = await discovered(provider);
  const began = { state: random(), nonce: random(), verifier: random(), hash: location.hash };
  sessionStorage.setItem(FLOW, JSON.stringify(began));
  const address = new URL(authorization_endpoint);
  const asked = {
    response_type: "code",
    client_id: provider.client_id,
    redirect_uri: here(),
    scope: provider.scope,
    state: began.state,
    nonce: began.nonce,
    code_challenge: await challenge(began.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(asked)) address.searchParams.set(name, value);
  location.assign(address);
}

// The token that the provider has for whoever comes back from there; null for everybody else.
// Throws where what came back isn't what was asked for, or the provider refused.
export async function comeBack(provider) {
  const came = new URLSearchParams(location.search);
  if (!came.has("state") || !(came.has("code") || came.has("error"))) return null;
  const began = JSON.parse(sessionStorage.getItem(FLOW) ?? "null");
  sessionStorage.removeItem(FLOW);
  history.replaceState(null, "", here() + (began?.hash ?? ""));
  if (came.get("state") !== began?.state) throw new Error("state");
  if (came.has("error")) throw new Error(came.get("error_description") ?? came.get("error"));
  const document = await discovered(provider);
  const tokens = await exchanged(document, provider, came.get("code"), began.verifier);
  check(tokens.id_token, document, provider, began.nonce);
  // Some issuers' access tokens are for themselves alone, and say nothing to anybody else.
  return claims(tokens.access_token) ? tokens.access_token : tokens.id_token;
}

async function discovered(provider) {
  const answer = await fetch(`${provider.issuer}/.well-known/openid-configuration`);
  if (!answer.ok) throw new Error(`${provider.issuer}: ${answer.status}`);
  const document = await answer.json();
  if (document.issuer.replace(/\/$/, "") !== provider.issuer) throw new Error("issuer");
  return document;
}

async function exchanged({ token_endpoint }, provider, code, verifier) {
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    code,
    redirect_uri: here(),
    client_id: provider.client_id,
    code_verifier: verifier,
  });
  const answer = await fetch(token_endpoint, { method: "POST", body });
  if (!answer.ok) throw new Error(`${token_endpoint}: ${answer.status}`);
  return answer.json();
}

// The token came from the issuer itself, over its own connection; what it says has to fit all the same.
function check(token, { issuer }, provider, nonce) {
  const said = claims(token);
  const fits =
    said &&
    said.iss === issuer &&
    [said.aud].flat().includes(provider.client_id) &&
    said.nonce === nonce &&
    said.exp * 1000 > Date.now();
  if (!fits) throw new Error("id_token");
}

function claims(token) {
  const parts = String(token ?? "").split(".");
  if (parts.length !== 3) return null;
  try {
    const bytes = Uint8Array.from(atob(parts[1].replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return null; // opaque, and none of our business
  }
}

const here = () => location.origin + location.pathname;

const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

async function challenge(verifier) {
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(verifier))));
}

function base64url(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
