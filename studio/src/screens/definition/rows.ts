/** A list of objects as rows of cells, and back: what a cell does not show stays as it is. */

export type Row = Record<string, unknown>;

/** The rows of a value; nothing where it holds anything but objects, or where a cell holds more than a text. */
export function rowsOf(value: unknown, paths: string[]): Row[] | null {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return null;
  const rows = value as unknown[];
  return rows.every((row) => isObject(row) && paths.every((path) => isCell(row, path.split(".")))) ? (rows as Row[]) : null;
}

/** The text of a cell. */
export function cellOf(row: Row, path: string): string {
  const value = path.split(".").reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), row);
  return typeof value === "string" ? value : "";
}

/** The row with another text in a cell. An empty text removes the member, and an object that has no other goes with it. */
export function withCell(row: Row, path: string, text: string): Row {
  const [key = "", ...rest] = path.split(".");
  if (rest.length === 0) return text === "" ? without(row, key) : { ...row, [key]: text };
  const inner = row[key];
  const changed = withCell(isObject(inner) ? inner : {}, rest.join("."), text);
  return Object.keys(changed).length === 0 ? without(row, key) : { ...row, [key]: changed };
}

const isObject = (value: unknown): value is Row => typeof value === "object" && value !== null && !Array.isArray(value);

function isCell(at: unknown, [key = "", ...rest]: string[]): boolean {
  const value = isObject(at) ? at[key] : undefined;
  if (value === undefined) return true;
  return rest.length === 0 ? typeof value === "string" : isObject(value) && isCell(value, rest);
}

const without = (row: Row, key: string): Row => Object.fromEntries(Object.entries(row).filter(([name]) => name !== key));
