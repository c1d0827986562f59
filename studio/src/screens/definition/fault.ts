import type { Checked, Definition, Field, Problem } from "../../api/types";

/** What a problem is about, in the words of the form: the step and the field. */
export interface Fault {
  step: { id: string; name: string } | null;
  field: Pick<Field, "path" | "label"> | null;
}

export function faultOf(problem: Problem, definition: Definition, about: Checked["about"], texts: (string | null)[]): Fault {
  const entry = problem.node === null ? undefined : about[problem.node];
  const fields = entry ? (definition.palette.find((kind) => kind.kind === entry.word)?.fields ?? []) : definition.fields;
  return { step: entry ? { id: entry.id, name: entry.name } : null, field: named(problem.message, fields) ?? written(problem, fields, entry?.place?.from ?? 0, texts) };
}

/** What the text calls a field. */
const keyOf = ({ path }: Field) => path.split(".").at(-1) ?? path;

/** Whether messages, which use the names of the text, call a field otherwise than its label. */
export const isOtherName = (field: Field) => plain(field.label) !== plain(keyOf(field));

const plain = (name: string) => name.replace(/[^\p{L}\d]/gu, "").toLowerCase();

/** The field that the message names. */
function named(message: string, fields: Field[]): Field | null {
  return fields.find(({ path }) => message.includes(`\`${path}\``)) ?? fields.find((field) => message.includes(`\`${keyOf(field)}\``)) ?? null;
}

/** The field at whose value the problem stands: the last key of one before it, on its line. */
function written({ place }: Problem, fields: Field[], from: number, texts: (string | null)[]): Field | null {
  if (!place) return null;
  const text = texts[place.file] ?? "";
  const line = text.slice(Math.max(from, text.lastIndexOf("\n", place.from - 1) + 1), place.from + 1);
  let best: Field | null = null;
  let at = -1;
  for (const field of fields) {
    const found = Math.max(line.lastIndexOf(`"${keyOf(field)}":`), line.search(new RegExp(`(^|[\\s,{-])${keyOf(field)}:(?=\\s)(?!.*\\b${keyOf(field)}:)`)));
    if (found > at) [best, at] = [field, found];
  }
  return best;
}
