import { connection, noteVersion, setConnection } from "../api/connection";
import type { RunEvent, Said } from "../api/types";
import type { ServerEvent } from "./parse";
import { readEvents } from "./stream";

export type LiveEvent = { is: "record"; record: RunEvent } | { is: "said"; said: Said } | { is: "driven"; run: string | null } | { is: "definitions" } | { is: "calls" } | { is: "requests" } | { is: "here" };

type Listener = (events: LiveEvent[]) => void;
type State = "live" | "offline" | "refused";
type Message =
  | { is: "events"; events: ServerEvent[]; cursor: string | null }
  | { is: "state"; state: State; version: string | null }
  | { is: "who" };

const NAME = "portolan-studio-events";
const listeners = new Set<Listener>();
let cursor: string | null = null;
let version: string | null = null;
let leading: State | null = null;
let resume: () => void = () => undefined;

/** Reads on with another token, after the one before was refused. */
export const resumeEvents = () => resume();

export function onLive(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * One stream for all tabs: browsers allow six connections to a host, so with a stream each the
 * seventh tab never loads. The tab that holds the lock reads; the others listen to it.
 */
export function startEvents(): void {
  const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel(NAME) : null;
  const send = (message: Message) => channel?.postMessage(message);

  channel?.addEventListener("message", ({ data }: MessageEvent<Message>) => {
    if (data.is === "events") {
      cursor = data.cursor;
      dispatch(data.events);
    } else if (data.is === "state") {
      if (data.version) noteVersion(data.version);
      // Each tab has a token of its own, perhaps of an earlier start: whether it is good only its own requests show.
      if (data.state !== "refused" && connection.get().state !== "refused") setConnection(data.state);
    } else if (leading) {
      send({ is: "state", state: leading, version });
    }
  });

  const lead = async () => {
    const abort = new AbortController();
    await readEvents(
      {
        cursor: () => cursor,
        onState(state) {
          leading = state;
          setConnection(state);
          send({ is: "state", state, version });
        },
        onEvents(events) {
          for (const event of events) cursor = event.id ?? cursor;
          send({ is: "events", events, cursor });
          dispatch(events);
        },
      },
      abort.signal,
    );
    leading = null;
  };

  if (!("locks" in navigator) || !channel) {
    resume = () => void (leading === null && lead());
    void lead();
    return;
  }
  resume = () => {
    void navigator.locks.request(NAME, lead);
    send({ is: "who" });
  };
  resume();
  send({ is: "who" });
}

function dispatch(events: ServerEvent[]): void {
  const live: LiveEvent[] = [];
  for (const { event, data } of events) {
    if (event === "record") live.push({ is: "record", record: JSON.parse(data) as RunEvent });
    else if (event === "said") live.push({ is: "said", said: JSON.parse(data) as Said });
    else if (event === "driven") live.push({ is: "driven", run: (JSON.parse(data) as { run: string | null }).run });
    else if (event === "definitions" || event === "calls" || event === "requests") live.push({ is: event });
    else if (event === "here") {
      version = (JSON.parse(data) as { version: string }).version;
      noteVersion(version);
      live.push({ is: "here" });
    }
  }
  if (live.length > 0) for (const listener of [...listeners]) listener(live);
}
