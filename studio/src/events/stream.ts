import { API } from "../api/client";
import { bearer } from "../api/token";
import { EventParser, type ServerEvent } from "./parse";

export interface StreamHandlers {
  onEvents(events: ServerEvent[]): void;
  onState(state: "live" | "offline" | "refused"): void;
  cursor(): string | null;
}

const FIRST_WAIT = 250;
const LONGEST_WAIT = 8_000;
/** The server sends a comment every 15 s; two of them missing means that the connection is dead. */
const SILENCE = 40_000;

/** Reads the event stream until `signal` ends it or the server refuses the token. */
export async function readEvents(handlers: StreamHandlers, signal: AbortSignal): Promise<void> {
  let wait = FIRST_WAIT;
  while (!signal.aborted) {
    const began = performance.now();
    const end = await readOnce(handlers, signal);
    if (signal.aborted) return;
    handlers.onState(end);
    if (end === "refused") return;
    if (performance.now() - began > 5_000) wait = FIRST_WAIT;
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }
}

async function readOnce(handlers: StreamHandlers, signal: AbortSignal): Promise<"offline" | "refused"> {
  const abort = new AbortController();
  const stop = () => abort.abort();
  signal.addEventListener("abort", stop);
  let watchdog = setTimeout(stop, SILENCE);
  try {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    const token = bearer();
    const cursor = handlers.cursor();
    if (token) headers.Authorization = `Bearer ${token}`;
    if (cursor) headers["Last-Event-ID"] = cursor;
    const response = await fetch(`${API}/events`, {
      headers,
      signal: abort.signal,
      cache: "no-store",
      credentials: "omit",
    });
    if (response.status === 401 || response.status === 403) return "refused";
    if (!response.ok || !response.body) return "offline";
    handlers.onState("live");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return "offline";
      clearTimeout(watchdog);
      watchdog = setTimeout(stop, SILENCE);
      const events = parser.push(value);
      if (events.length > 0) handlers.onEvents(events);
      if (events.some((event) => event.event === "bye")) return "offline";
    }
  } catch {
    return "offline";
  } finally {
    clearTimeout(watchdog);
    signal.removeEventListener("abort", stop);
    abort.abort();
  }
}

/** Waits, but no longer than until the browser says that it is worth another try. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      document.removeEventListener("visibilitychange", visible);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const visible = () => {
      if (!document.hidden) done();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    document.addEventListener("visibilitychange", visible);
    signal.addEventListener("abort", done);
  });
}
