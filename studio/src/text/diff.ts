export interface DiffLine {
  is: "same" | "left" | "right";
  text: string;
}

/** Beyond this many cells the table of the longest common part costs more than it tells. */
const MOST_CELLS = 4_000_000;

/** The lines of two texts, in order: common ones once, the others by their side. */
export function diffLines(left: string, right: string): DiffLine[] {
  const a = left.split("\n");
  const b = right.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const same = (lines: string[]): DiffLine[] => lines.map((text) => ({ is: "same", text }));
  const middle = between(a.slice(start, a.length - end), b.slice(start, b.length - end));
  return [...same(a.slice(0, start)), ...middle, ...same(a.slice(a.length - end))];
}

function between(a: string[], b: string[]): DiffLine[] {
  const gone = (text: string): DiffLine => ({ is: "left", text });
  const come = (text: string): DiffLine => ({ is: "right", text });
  if (a.length * b.length > MOST_CELLS) return [...a.map(gone), ...b.map(come)];
  const width = b.length + 1;
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ is: "same", text: a[i++] as string });
      j++;
    } else if ((common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0)) lines.push(gone(a[i++] as string));
    else lines.push(come(b[j++] as string));
  }
  return [...lines, ...a.slice(i).map(gone), ...b.slice(j).map(come)];
}
