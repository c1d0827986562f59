import { diffLines, type DiffLine } from "./diff";

export interface Hunk {
  /** Numbers of the first line on either side. */
  left: number;
  right: number;
  lines: DiffLine[];
}

/** The differences of two texts with some lines around them; `context` lines that stay are shown. */
export function hunksOf(before: string, after: string, context = 3): Hunk[] {
  const lines = diffLines(before, after);
  const shown = new Uint8Array(lines.length);
  lines.forEach((line, i) => {
    if (line.is !== "same") shown.fill(1, Math.max(0, i - context), i + context + 1);
  });
  const hunks: Hunk[] = [];
  let [left, right] = [1, 1];
  lines.forEach((line, i) => {
    if (shown[i]) {
      if (!shown[i - 1] || i === 0) hunks.push({ left, right, lines: [] });
      hunks.at(-1)?.lines.push(line);
    }
    if (line.is !== "right") left++;
    if (line.is !== "left") right++;
  });
  return hunks;
}

export function countChanges(hunks: Hunk[]): { gone: number; come: number } {
  const count = (is: DiffLine["is"]) => hunks.reduce((sum, hunk) => sum + hunk.lines.filter((line) => line.is === is).length, 0);
  return { gone: count("left"), come: count("right") };
}
