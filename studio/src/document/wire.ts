import { ApiError, isAbort, toApiError } from "../api/client";
import type { Checked, Edited, Operation } from "../api/types";
import { Store } from "../parts/store";
import type { Document } from "./document";

export interface Shape {
  root: string | null;
  folded: string[];
  opened: string[];
}

export interface CheckedState {
  /** What the server says about the newest text that it has seen. */
  checked: Checked;
  /** The last one with a drawing: a syntax error leaves it on screen. */
  sound: Checked;
  error: ApiError | null;
}

type File = { name: string; text: string | null };

/** The requests, so that tests need no server. */
export interface Port {
  check(files: File[] | null, shape: Shape): Promise<Checked>;
  edit(files: File[], shape: Shape, operation: Operation): Promise<Edited>;
}

const REST = 40;
/** The first change after a pause need not wait for more of them. */
const FIRST_REST = 10;
const PAUSE = 60;
/** Whoever types without a rest sees the graph follow all the same. */
const LONGEST_WAIT = 160;
const TRIES = 4;

interface Task {
  operations: (Operation | ((last: Edited | null) => Operation))[];
  before: string | null;
  done: (result: Edited | ApiError) => void;
  then: (result: Edited) => void;
}

/**
 * Keeps what the server says about the document current. One request is under way at a time; of
 * several changes only the newest text is sent. Edits of the graph go before checks.
 */
export class Wire {
  readonly state: Store<CheckedState>;
  private tasks: Task[] = [];
  private waiting: (() => void)[] = [];
  private dirty = false;
  private busy = false;
  private ended = false;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private since = 0;
  private shape: Shape = { root: null, folded: [], opened: [] };

  constructor(
    private document: Document,
    private port: Port,
    first: Checked,
  ) {
    this.state = new Store<CheckedState>({ checked: first, sound: first, error: null });
  }

  start(): () => void {
    this.ended = false;
    let last = 0;
    const end = this.document.onChange(() => {
      const now = performance.now();
      this.ask(now - last > PAUSE ? FIRST_REST : REST);
      last = now;
    });
    return () => {
      end();
      this.ended = true;
      if (this.timer !== null) clearTimeout(this.timer);
      this.timer = null;
    };
  }

  reshape(shape: Shape): void {
    if (JSON.stringify(shape) === JSON.stringify(this.shape)) return;
    this.shape = shape;
    this.ask(0);
  }

  /** Checks again, soon. */
  ask(rest = 0): void {
    const now = performance.now();
    if (!this.dirty) this.since = now;
    this.dirty = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(
      () => {
        this.timer = null;
        void this.work();
      },
      Math.max(0, Math.min(rest, this.since + LONGEST_WAIT - now)),
    );
  }

  /** Several operations are one step of the history, and done all or none. */
  /** `then` is called before anything is shown, so that what is selected changes together with the drawing. */
  edit(operations: Task["operations"], before: string | null, then: Task["then"] = () => undefined): Promise<Edited | ApiError> {
    return new Promise((done) => {
      this.tasks.push({ operations, before, done, then });
      void this.work();
    });
  }

  take(checked: Checked): void {
    this.state.update((now) => ({ checked, sound: checked.drawing ? checked : now.sound, error: null }));
  }

  private async work(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    while (!this.ended) {
      const task = this.tasks.shift();
      if (task) await this.carryOut(task);
      else if (this.dirty && this.timer === null) await this.check();
      else break;
    }
    this.busy = false;
    if (this.tasks.length === 0) for (const tell of this.waiting.splice(0)) tell();
  }

  /** Resolves once no edit is under way. */
  settled(): Promise<void> {
    if (!this.busy) return Promise.resolve();
    return new Promise((tell) => this.waiting.push(tell));
  }

  private async check(): Promise<void> {
    this.dirty = false;
    try {
      const checked = await this.port.check(this.document.files(), this.shape);
      if (!this.ended) this.take(checked);
    } catch (error) {
      if (isAbort(error) || this.ended) return;
      this.state.update((now) => ({ ...now, error: toApiError(error) }));
    }
  }

  private async carryOut({ operations, before, done, then }: Task): Promise<void> {
    try {
      for (let tries = 0; tries < TRIES; tries++) {
        const sent = this.document.state.get().texts;
        let files = this.document.files();
        let result: Edited | null = null;
        for (const operation of operations) {
          const last = result as Edited | null;
          const next = await this.port.edit(files, this.shape, typeof operation === "function" ? operation(last) : operation);
          // What an earlier one has added stays the one to look at.
          result = { ...next, select: next.select ?? last?.select ?? null };
          // The server answers with more of a file than it takes.
          files = result.files.map(({ name, text }) => ({ name, text }));
        }
        if (!result || this.ended) return;
        // Somebody typed meanwhile: the operation is done again on the text as it is now.
        if (this.document.state.get().texts !== sent) continue;
        this.document.replace(result.files, before, result.select);
        // The answer says already what a check would say.
        this.dirty = false;
        if (this.timer !== null) clearTimeout(this.timer);
        this.timer = null;
        then(result);
        this.take(result);
        done(result);
        return;
      }
      done(new ApiError(409, "busy", "The text changed while this was done.", "Do it again once you have stopped typing."));
    } catch (error) {
      done(toApiError(error));
    }
  }
}
