import { diffLines } from "./diff";

export type Side = "mine" | "theirs";

/** A run of lines that all agree on, or a place where somebody changed something. */
export type Block =
  | { is: "same"; lines: string[] }
  | { is: "changed"; base: string[]; mine: string[]; theirs: string[]; by: Side | "both" };

/**
 * The changes of two texts since their common base, by blocks of lines. What both changed in the
 * same way is the same; what both changed otherwise is for a person to choose.
 */
export function mergeBlocks(base: string, mine: string, theirs: string): Block[] {
  const lines = base.split("\n");
  const changes = [...changesOf(base, mine, "mine"), ...changesOf(base, theirs, "theirs")].sort((a, b) => a.from - b.from || a.to - b.to);
  const blocks: Block[] = [];
  let at = 0;
  for (let i = 0; i < changes.length; ) {
    const first = changes[i] as Change;
    const { from } = first;
    let to = first.to;
    const group: Change[] = [];
    // Changes that touch each other are one: neither can be taken without the other's surroundings.
    for (; i < changes.length && ((changes[i] as Change).from < to || (changes[i] as Change).from === from || touches(changes[i] as Change, group, to)); i++) {
      group.push(changes[i] as Change);
      to = Math.max(to, (changes[i] as Change).to);
    }
    same(blocks, lines.slice(at, from));
    const before = lines.slice(from, to);
    const [left, right] = [taken("mine", group, lines, from, to), taken("theirs", group, lines, from, to)];
    if (equal(left, right)) same(blocks, left);
    else blocks.push({ is: "changed", base: before, mine: left, theirs: right, by: equal(left, before) ? "theirs" : equal(right, before) ? "mine" : "both" });
    at = to;
  }
  same(blocks, lines.slice(at));
  return blocks;
}

/** The text that the choices make; `null` while one is missing. A change of one side alone needs none. */
export function mergedText(blocks: Block[], choices: (Side | undefined)[]): string | null {
  const lines: string[] = [];
  for (const [i, block] of blocks.entries()) {
    if (block.is === "same") lines.push(...block.lines);
    else {
      const side = choices[i] ?? (block.by === "both" ? null : block.by);
      if (side === null) return null;
      lines.push(...block[side]);
    }
  }
  return lines.join("\n");
}

interface Versions {
  base: string | null;
  mine: string | null;
  theirs: string | null;
}

/** The same for a file that need not be there: where one side has it and the other has not, it is one block. */
export function mergeFile({ base, mine, theirs }: Versions): Block[] {
  if ((mine === null) === (theirs === null)) return mine === null ? [] : mergeBlocks(base ?? "", mine, theirs ?? "");
  const lines = (text: string | null) => (text === null ? [] : text.split("\n"));
  return [{ is: "changed", base: lines(base), mine: lines(mine), theirs: lines(theirs), by: mine === base ? "theirs" : theirs === base ? "mine" : "both" }];
}

/** The text that the choices make of a file, `null` where it is not to be there; nothing while a choice is missing. */
export function mergedFile({ mine, theirs }: Versions, blocks: Block[], choices: (Side | undefined)[]): string | null | undefined {
  if ((mine === null) === (theirs === null)) return mine === null ? null : (mergedText(blocks, choices) ?? undefined);
  const [block] = blocks;
  const side = choices[0] ?? (block?.is === "changed" && block.by !== "both" ? block.by : undefined);
  return side && (side === "mine" ? mine : theirs);
}

interface Change {
  side: Side;
  from: number;
  to: number;
  lines: string[];
}

function changesOf(base: string, text: string, side: Side): Change[] {
  const changes: Change[] = [];
  let at = 0;
  let open: Change | null = null;
  for (const line of diffLines(base, text)) {
    if (line.is === "same") {
      open = null;
      at++;
      continue;
    }
    if (!open) changes.push((open = { side, from: at, to: at, lines: [] }));
    if (line.is === "left") open.to = ++at;
    else open.lines.push(line.text);
  }
  return changes;
}

const touches = (change: Change, group: Change[], to: number) => change.from === to && group.some((other) => other.side !== change.side);

function taken(side: Side, group: Change[], lines: string[], from: number, to: number): string[] {
  const result: string[] = [];
  let at = from;
  for (const change of group) {
    if (change.side !== side) continue;
    result.push(...lines.slice(at, change.from), ...change.lines);
    at = change.to;
  }
  return [...result, ...lines.slice(at, to)];
}

function same(blocks: Block[], lines: string[]): void {
  if (lines.length === 0) return;
  const last = blocks.at(-1);
  if (last?.is === "same") last.lines.push(...lines);
  else blocks.push({ is: "same", lines: [...lines] });
}

const equal = (a: string[], b: string[]) => a.length === b.length && a.every((line, i) => line === b[i]);
