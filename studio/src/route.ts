import { Store, useStore } from "./parts/store";

export interface RunRef {
  run: string;
  seq: number | null;
}

export type Route =
  | { screen: "home" }
  | { screen: "definition"; id: string; root: string | null; node: string | null }
  | { screen: "try"; id: string; root: string | null; node: string | null; from: string | null }
  | { screen: "run"; run: string; seq: number | null; node: string | null }
  | { screen: "compare"; left: RunRef; right: RunRef }
  | { screen: "inbox"; run: string | null }
  | { screen: "project" }
  | { screen: "passkey" }
  | { screen: "unknown"; address: string };

export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decode);
  const params = new URLSearchParams(query);
  const node = params.get("node");
  const [screen, first = "", second = ""] = parts;
  if (screen === undefined) return { screen: "home" };
  if (screen === "inbox") return { screen, run: params.get("run") };
  if (screen === "project" || screen === "passkey") return { screen };
  if (screen === "definition" && first) return { screen, id: first, root: params.get("root"), node };
  if (screen === "try" && first) return { screen, id: first, root: params.get("root"), node, from: params.get("from") };
  if (screen === "run" && first) return { screen, ...parseRunRef(first), node };
  if (screen === "compare" && first && second) return { screen, left: parseRunRef(first), right: parseRunRef(second) };
  return { screen: "unknown", address: hash };
}

export function parseRunRef(text: string): RunRef {
  const found = /^(.*)@(\d+)$/.exec(text);
  return found ? { run: found[1] ?? "", seq: Number(found[2]) } : { run: text, seq: null };
}

export const runRef = ({ run, seq }: RunRef) => encodeURIComponent(run) + (seq === null ? "" : `@${seq}`);

function query(values: Record<string, string | null | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) params.set(name, value);
  const text = params.toString();
  return text ? `?${text}` : "";
}

export const link = {
  home: () => "#/",
  /** `run` is the one whose question is looked for. */
  inbox: (run: string | null = null) => `#/inbox${query({ run })}`,
  project: () => "#/project",
  passkey: () => "#/passkey",
  definition: (id: string, more: { root?: string | null; node?: string | null } = {}) =>
    `#/definition/${encodeURIComponent(id)}${query(more)}`,
  /** `from` is an earlier run, whose input is taken over. */
  try: (id: string, more: { root?: string | null; node?: string | null; from?: string | null } = {}) => `#/try/${encodeURIComponent(id)}${query(more)}`,
  run: (run: string, seq: number | null = null, node: string | null = null) =>
    `#/run/${runRef({ run, seq })}${query({ node })}`,
  compare: (left: RunRef, right: RunRef) => `#/compare/${runRef(left)}/${runRef(right)}`,
};

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const route = new Store<Route>({ screen: "home" });

export function startRoutes(): void {
  shown = location.hash;
  route.set(parseRoute(shown));
  addEventListener("hashchange", () => {
    const wanted = location.hash;
    if (guard?.(parseRoute(wanted), wanted)) {
      // The address is the new one already; it goes back to what is on screen until the person has decided.
      history.replaceState(null, "", shown);
      return;
    }
    shown = wanted;
    route.set(parseRoute(wanted));
  });
}

type Guard = (next: Route, address: string) => boolean;

let shown = "";
let guard: Guard | null = null;

/** Asks `hold` before another address is shown; where it says true, what is on screen stays. */
export function guardRoutes(hold: Guard): () => void {
  guard = hold;
  return () => {
    if (guard === hold) guard = null;
  };
}

export function openRoutes(): void {
  guard = null;
}

export const useRoute = () => useStore(route);

export function go(address: string): void {
  location.hash = address;
}

/** Changes the address without a step in the history: for what changes as one looks around. */
export function note(address: string): void {
  if (location.hash === address) return;
  history.replaceState(null, "", address);
  shown = address;
  route.set(parseRoute(address));
}
