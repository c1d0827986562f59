import type { DiffLine } from "./diff";
import { spliceBetween } from "./splice";

/** What of a line differs: from where to where. */
export type Marked = [from: number, to: number];

/**
 * The parts that differ in lines that were changed, by the number of the line. A line that went and one that came in its place
 * are compared; where they have nothing but spaces in common, it is another line, and all of it is new.
 */
export function changedWithin(lines: DiffLine[]): Map<number, Marked> {
  const marked = new Map<number, Marked>();
  for (let i = 0; i < lines.length; ) {
    const left = runOf(lines, i, "left");
    const right = runOf(lines, i + left, "right");
    for (let nth = 0; nth < Math.min(left, right); nth++) compare(lines, i + nth, i + left + nth, marked);
    i += Math.max(1, left + right);
  }
  return marked;
}

/** How many lines of a side follow each other. */
function runOf(lines: DiffLine[], from: number, is: DiffLine["is"]): number {
  let to = from;
  while (lines[to]?.is === is) to++;
  return to - from;
}

function compare(lines: DiffLine[], left: number, right: number, marked: Map<number, Marked>): void {
  const [before, after] = [lines[left]?.text ?? "", lines[right]?.text ?? ""];
  const splice = spliceBetween(before, after);
  if (!splice) return;
  const { from, removed, inserted } = splice;
  if ((before.slice(0, from) + before.slice(from + removed.length)).trim() === "") return;
  if (removed !== "") marked.set(left, [from, from + removed.length]);
  if (inserted !== "") marked.set(right, [from, from + inserted.length]);
}
