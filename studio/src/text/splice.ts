/** One place where a text changes: `removed` stands at `from` and becomes `inserted`. */
export interface Splice {
  from: number;
  removed: string;
  inserted: string;
}

/** The smallest splice that makes `after` of `before`; `null` when they are equal. */
export function spliceBetween(before: string, after: string): Splice | null {
  if (before === after) return null;
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before.charCodeAt(start) === after.charCodeAt(start)) start++;
  if (start > 0 && isHigh(before.charCodeAt(start - 1))) start--;
  let end = 0;
  while (end < most - start && before.charCodeAt(before.length - 1 - end) === after.charCodeAt(after.length - 1 - end)) end++;
  // Half of a surrogate pair is no character: an editor would show it as one that cannot be read.
  if (end > 0 && isLow(before.charCodeAt(before.length - end))) end--;
  return { from: start, removed: before.slice(start, before.length - end), inserted: after.slice(start, after.length - end) };
}

export const applySplice = (text: string, { from, removed, inserted }: Splice) => text.slice(0, from) + inserted + text.slice(from + removed.length);

export const reverse = ({ from, removed, inserted }: Splice): Splice => ({ from, removed: inserted, inserted: removed });

/** `next` as a continuation of `last`: typing and deleting letter by letter are one step of the history. */
export function joined(last: Splice, next: Splice): Splice | null {
  if (next.removed === "" && next.from === last.from + last.inserted.length) return { ...last, inserted: last.inserted + next.inserted };
  if (next.inserted === "" && last.inserted === "") {
    if (next.from + next.removed.length === last.from) return { from: next.from, removed: next.removed + last.removed, inserted: "" };
    if (next.from === last.from) return { ...last, removed: last.removed + next.removed };
  }
  return null;
}

const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000;
