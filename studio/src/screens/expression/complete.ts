/** What stands before the cursor, and the names that it may become. */
export interface Completion {
  from: number;
  to: number;
  choices: string[];
}

const MOST = 8;

/**
 * The names that go on with what stands before the cursor. A name stands at the beginning of a path: alone, behind `$.`, or
 * at the beginning of a text of JSON Logic.
 */
export function complete(text: string, cursor: number, names: string[]): Completion | null {
  const before = text.slice(0, cursor);
  const word = /[$A-Za-z_][\w-]*$/.exec(before)?.[0] ?? "";
  const from = cursor - word.length;
  const around = before.slice(0, from);
  const isRoot = /(^|[^\w$)\]])\$\.$/.test(around);
  if (word === "" && !isRoot) return null;
  // Behind any other dot is a part of a value, which has names of its own.
  if (around.endsWith(".") && !isRoot) return null;
  if (/[\w$-]/.test(text[cursor] ?? "")) return null;
  const wanted = word.toLowerCase();
  const choices = names.filter((name) => name !== word && name.toLowerCase().startsWith(wanted) && !(isRoot && name.startsWith("$")));
  return choices.length > 0 ? { from, to: cursor, choices: choices.slice(0, MOST) } : null;
}

export function completed(text: string, { from, to }: Completion, name: string): { text: string; cursor: number } {
  return { text: text.slice(0, from) + name + text.slice(to), cursor: from + name.length };
}
