import type { About, Drawing, FrameValues } from "../../api/types";

/** A value that is to be another one in a fork, as it stands in the form. */
export interface Change {
  name: string;
  text: string;
  /** Whether the text is the value, and not JSON. */
  plain?: boolean;
}

/** A value as it stands in the form: a text as itself, anything else as JSON. */
export function changeOf(name: string, value: unknown): Change {
  return typeof value === "string" ? { name, text: value, plain: true } : { name, text: JSON.stringify(value, null, 2) ?? "" };
}

/** What the changes say together, or what is wrong with each. */
export function readChanges(changes: Change[]): { set: Record<string, unknown> | null; problems: Record<number, string> } {
  const set: Record<string, unknown> = {};
  const problems: Record<number, string> = {};
  changes.forEach(({ name, text, plain }, i) => {
    if (name.trim() === "") problems[i] = "Its name is missing.";
    else if (Object.hasOwn(set, name.trim())) problems[i] = "It is changed twice.";
    else if (plain) set[name.trim()] = text;
    else if (text.trim() === "") problems[i] = "Its value is missing, as JSON.";
    else {
      try {
        set[name.trim()] = JSON.parse(text);
      } catch (error) {
        problems[i] = `This is not JSON yet: ${(error as Error).message}`;
      }
    }
  });
  return { set: Object.keys(problems).length === 0 ? set : null, problems };
}

/** What stands behind a name: the node whose output it is, and what lies inside of it. */
export function aboutName(name: string, values: Record<string, unknown>, drawing: Drawing | null): string {
  const wanted = name.trim();
  if (wanted === "") return "";
  const node = drawing?.nodes.find((entry) => entry.id === wanted);
  if (wanted in values) {
    if (!node) return "A variable.";
    const inside = node.container === null ? "" : `; what was done inside of it, such as “${wanted}/…” in the outline, is a part of this value`;
    return `The result of “${node.name}”${node.detail ? `: it ${node.detail}` : ""}${inside}.`;
  }
  const outer = wanted.split(/[./]/)[0] ?? "";
  if (outer !== wanted && outer in values) return `This is inside of “${outer}”: change the value of “${outer}”, which holds it.`;
  return node ? "It has no result yet at this record." : "";
}

/**
 * The values that a node is made of: those that are named where what it does is written, or else the one that came last.
 */
export function usedBy(texts: string[], values: Record<string, unknown>): string[] {
  const names = Object.keys(values);
  const isNamed = (name: string) => texts.some((text) => new RegExp(`(^|[^\\w-])${name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}($|[^\\w-])`, "u").test(text));
  const used = names.filter(isNamed);
  return used.length > 0 ? used : names.slice(-1);
}

/** What the definition says that a step does. */
export const writtenIn = (entry: About | null | undefined): string[] => entry?.facts.filter((fact) => fact.code).map((fact) => fact.text) ?? [];

/** The values that a visit sees: those of the innermost frame around it. */
export function valuesAt(at: string, frames: FrameValues[]): Record<string, unknown> {
  const around = frames.filter(({ frame }) => frame === "" || at.startsWith(`${frame}/`));
  return around.sort((a, b) => b.frame.length - a.frame.length)[0]?.value ?? {};
}

/** The command that does the same in a terminal, over the definition as it is now. */
export function commandOf(run: string, seq: number, set: Record<string, unknown>): string {
  const values = Object.entries(set).map(([name, value]) => ` --set ${quoted(`${name}=${JSON.stringify(value)}`)}`);
  return `portolan runs fork ${run} --at ${seq} --definition current${values.join("")}`;
}

/** As a shell takes it literally. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The values that are others than those that are there. */
export const changed = (set: Record<string, unknown>, values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(set).filter(([name, value]) => !(name in values) || JSON.stringify(value) !== JSON.stringify(values[name])));
