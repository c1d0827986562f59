import { Store } from "../parts/store";

export interface Connection {
  state: "connecting" | "live" | "offline" | "refused";
  /** Counts the returns of the server: whoever shows data loads it again when this grows. */
  returns: number;
  /** The server's version changed while this page was open. */
  updated: boolean;
}

export const connection = new Store<Connection>({ state: "connecting", returns: 0, updated: false });

let version: string | null = null;

export function setConnection(state: Connection["state"]): void {
  connection.update((now) => {
    if (now.state === state) return now;
    const back = state === "live" && now.state !== "connecting";
    return { ...now, state, returns: now.returns + (back ? 1 : 0) };
  });
}

export function noteVersion(now: string): void {
  if (version !== null && version !== now) connection.update((c) => ({ ...c, updated: true }));
  version = now;
}

/** A request that fails is evidence before the event stream notices. */
export function noteUnreachable(): void {
  if (connection.get().state === "live") setConnection("offline");
}

export function noteRefused(): void {
  setConnection("refused");
}

/** An answer shows that the token is good again; only the event stream says "live". */
export function noteAnswer(): void {
  if (connection.get().state === "refused") setConnection("connecting");
}
