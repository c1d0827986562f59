import type { Point, SourceFile } from "../api/types";
import { Store } from "../parts/store";
import { applySplice, joined, reverse, spliceBetween, type Splice } from "../text/splice";

/** `turn` says that the file comes into being by it, or goes. */
export type FileSplice = Splice & { file: number; turn?: "comes" | "goes" };

/** A file with its text; `null` where it is not there. */
export interface FileText {
  name: string;
  text: string | null;
  language?: SourceFile["language"];
}

export interface DocumentState {
  /** By the places of the files in `names`; `null` for one that is not there. */
  texts: (string | null)[];
  /** What is on disk, as far as this page knows: what the texts are compared with, and saved over. */
  base: (string | null)[];
  revision: string;
  unsaved: boolean;
  canUndo: boolean;
  canRedo: boolean;
}

/** Nodes of a workflow's drawing with their offsets from the layout; `[0, 0]` for one that stands there. */
export interface Moved {
  root: string | null;
  offsets: Record<string, Point>;
}

interface Step {
  splices: FileSplice[];
  /** What was moved by hand. It is in no text, but in the history. */
  moved?: { before: Moved; after: Moved };
  /** What was selected before and after it, so that undo leads back to where it was done. */
  before: string | null;
  after: string | null;
  at: number;
  typing: boolean;
}

/** A step that was undone or done again: whoever shows the document selects what it was about. */
export interface Stepped {
  select: string | null;
  splices: FileSplice[];
  /** Where nodes belong now: the document does not keep it. */
  moved: Moved | null;
}

type Listener = (splices: FileSplice[], by: object | null) => void;

/** Pauses in typing longer than this begin a new step of the history. */
const PAUSE = 600;
const MOST_STEPS = 500;

/**
 * The texts of a definition, and their history. The history is here and not in the editor, because
 * it covers several files and edits of the graph, and works before the editor is loaded.
 */
export class Document {
  /** All files that were ever there: one that comes is put behind the others, and none moves, so that history and places hold. */
  readonly names: { name: string; language: SourceFile["language"] }[];
  readonly state: Store<DocumentState>;
  private past: Step[] = [];
  private future: Step[] = [];
  private listeners = new Set<Listener>();

  constructor(files: SourceFile[], revision: string) {
    this.names = files.map(({ name, language }) => ({ name, language }));
    const texts: string[] = files.map((file) => file.text);
    this.state = new Store<DocumentState>({ texts, base: texts, revision, unsaved: false, canUndo: false, canRedo: false });
  }

  /** The files as requests carry them. */
  files(): { name: string; text: string | null }[] {
    return this.named(this.state.get().texts);
  }

  /** Texts with the names of their files. */
  named(texts: (string | null)[]): { name: string; text: string | null }[] {
    return this.names.map(({ name }, i) => ({ name, text: texts[i] ?? null }));
  }

  onChange(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** A change in the editor. */
  type(file: number, splice: Splice, selected: string | null, by: object): void {
    const now = Date.now();
    const last = this.past.at(-1);
    const only = last?.splices.length === 1 ? last.splices[0] : undefined;
    const more = last?.typing && only?.file === file && now - last.at < PAUSE && this.future.length === 0 ? joined(only, splice) : null;
    if (last && more) this.past[this.past.length - 1] = { ...last, splices: [{ ...more, file }], after: selected, at: now };
    else this.push({ splices: [{ ...splice, file }], before: selected, after: selected, at: now, typing: true });
    this.future = [];
    this.apply([{ ...splice, file }], by);
  }

  /** Takes over whole files as one step: an edit of the graph, a merge. */
  replace(files: FileText[], before: string | null, after: string | null): void {
    const splices = this.between(this.placed(files, this.state.get().texts));
    if (splices.length === 0) return;
    this.push({ splices, before, after, at: Date.now(), typing: false });
    this.future = [];
    this.apply(splices, null);
  }

  /** What was moved by hand is a step like another, although it is kept elsewhere. */
  moves(before: Moved, after: Moved, selected: string | null): void {
    this.push({ splices: [], moved: { before, after }, before: selected, after: selected, at: Date.now(), typing: false });
    this.future = [];
    this.note({});
  }

  undo(): Stepped | null {
    const step = this.past.pop();
    if (!step) return null;
    this.future.push(step);
    const splices = step.splices.map(undone).reverse();
    this.apply(splices, null);
    return { select: step.before, splices, moved: step.moved?.before ?? null };
  }

  redo(): Stepped | null {
    const step = this.future.pop();
    if (!step) return null;
    this.past.push(step);
    this.apply(step.splices, null);
    return { select: step.after, splices: step.splices, moved: step.moved?.after ?? null };
  }

  /** What is on disk is this by now; the texts and their history stay. */
  rebase(files: FileText[], revision: string): void {
    this.note({ base: this.placed(files, []), revision });
  }

  /** Begins anew with other files, where nothing is unsaved. */
  reset(files: FileText[], revision: string): void {
    this.past = [];
    this.future = [];
    const texts = this.placed(files, []);
    this.note({ base: texts, revision });
    this.apply(this.between(texts), null);
  }

  /** The texts by the places of their files, of which some may be new; those of the others are as `rest` has them. */
  private placed(files: FileText[], rest: (string | null)[]): (string | null)[] {
    for (const { name, language } of files) {
      if (!this.names.some((known) => known.name === name)) this.names.push({ name, language: language ?? (name.endsWith(".json") ? "json" : "yaml") });
    }
    return this.names.map(({ name }, i) => {
      const file = files.find((file) => file.name === name);
      return file ? file.text : (rest[i] ?? null);
    });
  }

  /** What makes these texts of those that are there. */
  private between(texts: (string | null)[]): FileSplice[] {
    const now = this.state.get().texts;
    return texts.flatMap((text, file) => {
      const before = now[file] ?? null;
      const splice = spliceBetween(before ?? "", text ?? "") ?? { from: 0, removed: "", inserted: "" };
      if (before === null && text !== null) return [{ ...splice, file, turn: "comes" as const }];
      if (before !== null && text === null) return [{ ...splice, file, turn: "goes" as const }];
      return before === text ? [] : [{ ...splice, file }];
    });
  }

  private push(step: Step): void {
    this.past.push(step);
    if (this.past.length > MOST_STEPS) this.past.shift();
  }

  private apply(splices: FileSplice[], by: object | null): void {
    const now = this.state.get().texts;
    const texts = this.names.map((_, i) => now[i] ?? null);
    for (const splice of splices) texts[splice.file] = splice.turn === "goes" ? null : applySplice(texts[splice.file] ?? "", splice);
    this.note({ texts });
    for (const listener of [...this.listeners]) listener(splices, by);
  }

  private note(change: Partial<DocumentState>): void {
    const next = { ...this.state.get(), ...change };
    next.unsaved = this.names.some((_, i) => (next.texts[i] ?? null) !== (next.base[i] ?? null));
    next.canUndo = this.past.length > 0;
    next.canRedo = this.future.length > 0;
    this.state.set(next);
  }
}

function undone(splice: FileSplice): FileSplice {
  const { file, turn } = splice;
  return { ...reverse(splice), file, ...(turn && { turn: turn === "comes" ? "goes" : "comes" }) };
}
