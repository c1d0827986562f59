import type { SourceFile } from "../api/types";
import { Store } from "../parts/store";
import { applySplice, joined, reverse, spliceBetween, type Splice } from "../text/splice";

export type FileSplice = Splice & { file: number };

export interface DocumentState {
  texts: string[];
  /** What is on disk, as far as this page knows: what the texts are compared with, and saved over. */
  base: string[];
  revision: string;
  unsaved: boolean;
  canUndo: boolean;
  canRedo: boolean;
}

interface Step {
  splices: FileSplice[];
  /** What was selected before and after it, so that undo leads back to where it was done. */
  before: string | null;
  after: string | null;
  at: number;
  typing: boolean;
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
  readonly names: { name: string; language: SourceFile["language"] }[];
  readonly state: Store<DocumentState>;
  private past: Step[] = [];
  private future: Step[] = [];
  private listeners = new Set<Listener>();

  constructor(files: SourceFile[], revision: string) {
    this.names = files.map(({ name, language }) => ({ name, language }));
    const texts = files.map((file) => file.text);
    this.state = new Store<DocumentState>({ texts, base: texts, revision, unsaved: false, canUndo: false, canRedo: false });
  }

  /** The files as requests carry them. */
  files(): { name: string; text: string }[] {
    const { texts } = this.state.get();
    return this.names.map(({ name }, i) => ({ name, text: texts[i] ?? "" }));
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

  /** Takes over whole texts as one step: an edit of the graph, a merge. */
  replace(texts: string[], before: string | null, after: string | null): void {
    const now = this.state.get().texts;
    const splices = texts.flatMap((text, file) => {
      const splice = spliceBetween(now[file] ?? "", text);
      return splice ? [{ ...splice, file }] : [];
    });
    if (splices.length === 0) return;
    this.push({ splices, before, after, at: Date.now(), typing: false });
    this.future = [];
    this.apply(splices, null);
  }

  /** The step that was taken back: whoever shows the document selects what it was about. */
  undo(): { select: string | null; splices: FileSplice[] } | null {
    const step = this.past.pop();
    if (!step) return null;
    this.future.push(step);
    const splices = step.splices.map((splice) => ({ ...reverse(splice), file: splice.file })).reverse();
    this.apply(splices, null);
    return { select: step.before, splices };
  }

  redo(): { select: string | null; splices: FileSplice[] } | null {
    const step = this.future.pop();
    if (!step) return null;
    this.past.push(step);
    this.apply(step.splices, null);
    return { select: step.after, splices: step.splices };
  }

  /** What is on disk is this by now; the texts and their history stay. */
  rebase(base: string[], revision: string): void {
    this.note({ base, revision });
  }

  /** Begins anew with other texts, where nothing is unsaved. */
  reset(texts: string[], revision: string): void {
    this.past = [];
    this.future = [];
    const before = this.state.get().texts;
    const splices = texts.flatMap((text, file) => {
      const splice = spliceBetween(before[file] ?? "", text);
      return splice ? [{ ...splice, file }] : [];
    });
    this.note({ base: texts, revision });
    this.apply(splices, null);
  }

  private push(step: Step): void {
    this.past.push(step);
    if (this.past.length > MOST_STEPS) this.past.shift();
  }

  private apply(splices: FileSplice[], by: object | null): void {
    const texts = [...this.state.get().texts];
    for (const splice of splices) texts[splice.file] = applySplice(texts[splice.file] ?? "", splice);
    this.note({ texts });
    for (const listener of [...this.listeners]) listener(splices, by);
  }

  private note(change: Partial<DocumentState>): void {
    const next = { ...this.state.get(), ...change };
    next.unsaved = next.texts.some((text, i) => text !== next.base[i]);
    next.canUndo = this.past.length > 0;
    next.canRedo = this.future.length > 0;
    this.state.set(next);
  }
}
