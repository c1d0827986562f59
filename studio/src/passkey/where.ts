/** The name that passkeys belong to: browsers allow none for the address of a machine. */
const NAME = "localhost";

/** Why this page cannot ask for a passkey; null where it can. */
export function hindrance(): "elsewhere" | "unable" | null {
  if (location.hostname !== NAME) return "elsewhere";
  return "PublicKeyCredential" in globalThis && "credentials" in navigator ? null : "unable";
}

/** The same screen under the name that passkeys belong to; the token goes along, as in the address of the terminal. */
export function addressUnderName(here: { port: string; pathname: string; search: string; hash: string }, token: string | null): string {
  const fragment = here.hash.replace(/^#?/, "#");
  return `http://${NAME}${here.port && `:${here.port}`}${here.pathname}${here.search}${fragment === "#" ? "#/" : fragment}${token ? `&token=${encodeURIComponent(token)}` : ""}`;
}
