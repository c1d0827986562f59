import type { Document } from "./document";

/** Unsaved texts of a definition, kept in this tab so that a reload loses nothing. */
export interface Kept {
  revision: string;
  base: (string | null)[];
  texts: (string | null)[];
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

/** The files of one of the lists of texts that were kept. */
export const keptFiles = ({ names }: Kept, texts: (string | null)[]) => names.map((name, i) => ({ name, text: texts[i] ?? null }));

/** Whether this tab has changes of a definition that were never saved. */
export function isKept(id: string): boolean {
  try {
    const kept = JSON.parse(sessionStorage.getItem(keyOf(id)) ?? "null") as Kept | null;
    return kept !== null && kept.texts.some((text, i) => text !== kept.base[i]);
  } catch {
    return false;
  }
}

/** What was kept, if it belongs to the same definition: of its activities some may have come or gone. */
export function keptOf(id: string, document: Document): Kept | null {
  try {
    const kept = JSON.parse(sessionStorage.getItem(keyOf(id)) ?? "null") as Kept | null;
    const same = kept && kept.names[0] === document.names[0]?.name;
    const now = new Map(document.files().map(({ name, text }) => [name, text]));
    return same && kept.names.some((name, i) => kept.texts[i] !== (now.get(name) ?? null)) ? kept : null;
  } catch {
    return null;
  }
}
