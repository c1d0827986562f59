import type { Document } from "./document";

/** Unsaved texts of a definition, kept in this tab so that a reload loses nothing. */
export interface Kept {
  revision: string;
  base: string[];
  texts: string[];
  names: string[];
}

const keyOf = (id: string) => `portolan-unsaved ${id}`;

export function keep(id: string, document: Document): void {
  const { unsaved, revision, base, texts } = document.state.get();
  try {
    if (!unsaved) sessionStorage.removeItem(keyOf(id));
    else sessionStorage.setItem(keyOf(id), JSON.stringify({ revision, base, texts, names: document.names.map((file) => file.name) } satisfies Kept));
  } catch {
    // Without storage, or with a full one, leaving the page still asks.
  }
}

export function forget(id: string): void {
  try {
    sessionStorage.removeItem(keyOf(id));
  } catch {
    // Nothing was kept either.
  }
}

/** Whether this tab has changes of a definition that were never saved. */
export function isKept(id: string): boolean {
  try {
    const kept = JSON.parse(sessionStorage.getItem(keyOf(id)) ?? "null") as Kept | null;
    return kept !== null && kept.texts.some((text, i) => text !== kept.base[i]);
  } catch {
    return false;
  }
}

/** What was kept, if it belongs to the same files. */
export function keptOf(id: string, document: Document): Kept | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(keyOf(id)) ?? "null") as Kept | null;
    const same = kept && kept.names.length === document.names.length && kept.names.every((name, i) => name === document.names[i]?.name);
    return same && kept.texts.some((text, i) => text !== document.state.get().texts[i]) ? kept : null;
  } catch {
    return null;
  }
}
