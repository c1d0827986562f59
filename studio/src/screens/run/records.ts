import { get, segment } from "../../api/client";
import type { RecordLine } from "../../api/types";

export const PAGE = 1_000;

/**
 * The records of one run by sequence number, in pages that are loaded when they come into view:
 * a run may have a hundred thousand.
 */
export class Records {
  private pages = new Map<number, (RecordLine | undefined)[]>();
  private asked = new Set<number>();
  private listeners = new Set<() => void>();
  private changes = 0;

  constructor(
    private run: string,
    private fetchPage: (run: string, after: number) => Promise<{ records: RecordLine[]; head: number }> = load,
  ) {}

  subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  version = () => this.changes;

  at(seq: number): RecordLine | undefined {
    return this.pages.get(pageOf(seq))?.[(seq - 1) % PAGE];
  }

  /** Adds records; `quiet` leaves it to the caller to say so, when many come one after another. */
  add(records: RecordLine[], quiet = false): void {
    for (const record of records) {
      const page = pageOf(record.seq);
      let held = this.pages.get(page);
      if (!held) this.pages.set(page, (held = []));
      held[(record.seq - 1) % PAGE] = record;
    }
    if (!quiet) this.changed();
  }

  /** Loads whatever is missing between two sequence numbers, both included. */
  need(first: number, last: number): void {
    for (let page = pageOf(Math.max(1, first)); page <= pageOf(Math.max(1, last)); page++) {
      const from = Math.max(first, page * PAGE + 1);
      const to = Math.min(last, (page + 1) * PAGE);
      let missing = false;
      for (let seq = from; seq <= to && !missing; seq++) missing = this.at(seq) === undefined;
      if (!missing || this.asked.has(page)) continue;
      this.asked.add(page);
      this.fetchPage(this.run, page * PAGE)
        .then(({ records }) => this.add(records))
        .catch(() => undefined)
        .finally(() => this.asked.delete(page));
    }
  }

  /** All that is loaded, in order. */
  *loaded(): Generator<RecordLine> {
    for (const page of [...this.pages.keys()].sort((a, b) => a - b)) {
      for (const record of this.pages.get(page) ?? []) if (record) yield record;
    }
  }

  changed(): void {
    this.changes++;
    for (const listener of [...this.listeners]) listener();
  }
}

const pageOf = (seq: number) => Math.floor((seq - 1) / PAGE);

const load = (run: string, after: number) =>
  get<{ records: RecordLine[]; head: number }>(`/runs/${segment(run)}/records?after=${after}&limit=${PAGE}`);
