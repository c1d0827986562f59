const KEY = "portolan-token";

/**
 * Splits an address's fragment into the token and the rest.
 * The token may stand alone (`#token=…`) or behind a route (`#/run/abc@17&token=…`).
 */
export function splitFragment(fragment: string): { token: string | null; rest: string } {
  const found = /(^#?|&)token=([^&]*)/.exec(fragment);
  if (!found) return { token: null, rest: fragment };
  const rest = fragment.replace(found[0], found[1] === "&" ? "" : "#");
  return { token: decodeURIComponent(found[2] ?? ""), rest: rest === "#" ? "#/" : rest };
}

let token: string | null = null;

/** Takes the token out of the address before anything else can read, copy or bookmark it. */
export function takeToken(): void {
  const { token: found, rest } = splitFragment(location.hash);
  if (found) {
    history.replaceState(null, "", location.pathname + location.search + rest);
    token = found;
    try {
      sessionStorage.setItem(KEY, found);
    } catch {
      // Storage may be forbidden; then a reload needs the printed address again.
    }
    return;
  }
  try {
    token ??= sessionStorage.getItem(KEY);
  } catch {
    token ??= null;
  }
}

/**
 * An address with a fresh token may be pasted into a tab that is already open: the page goes on with it as it is, with all
 * that is not saved. This has to listen before the routes do: a token must never be read as a part of a name.
 */
export function watchTokens(onToken: () => void): void {
  addEventListener("hashchange", (event) => {
    const isPrinted = location.hash.startsWith("#token=");
    if (splitFragment(location.hash).token === null) return;
    takeToken();
    onToken();
    if (!isPrinted) return;
    // The printed address names no screen: what is on this one stays.
    event.stopImmediatePropagation();
    history.replaceState(null, "", new URL(event.oldURL).hash || "#/");
  });
}

/** Goes on with an address that the studio has printed; false where it is none. */
export function openAddress(address: string): boolean {
  const { token: found } = splitFragment(address.slice(Math.max(0, address.indexOf("#"))));
  if (found === null || !URL.canParse(address, location.href)) return false;
  const url = new URL(address, location.href);
  if (url.origin === location.origin) location.hash = `#token=${encodeURIComponent(found)}`;
  else location.href = url.href;
  return true;
}

export function bearer(): string | null {
  return token;
}
