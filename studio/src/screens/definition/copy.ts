import type { About, Edited, Operation, Values } from "../../api/types";
import { ownPart } from "./names";
import type { Operations } from "./session";

export interface CopiedNode {
  kind: string;
  id: string;
  values: Values;
}

interface Copied {
  form: "portolan/nodes/1";
  nodes: CopiedNode[];
}

/** What was copied last in this tab: some pages are not given the clipboard. */
let last: string | null = null;

/** `inRow`: it is a step of an activity. In the graph its id has that of the activity before it, and in the text it has not. */
export function copyNode(about: About, inRow = false): string | null {
  if (about.word === null) return null;
  last = JSON.stringify({ form: "portolan/nodes/1", nodes: [{ kind: about.word, id: inRow ? ownPart(about.id) : about.id, values: about.values }] } satisfies Copied, null, 2);
  return last;
}

export function copiedNodes(text: string): CopiedNode[] | null {
  return read(text) ?? (text.trim() === "" && last !== null ? read(last) : null);
}

function read(text: string): CopiedNode[] | null {
  try {
    const value = JSON.parse(text) as Copied;
    const whole = value?.form === "portolan/nodes/1" && Array.isArray(value.nodes);
    return whole && value.nodes.every((node) => typeof node.kind === "string" && typeof node.id === "string" && typeof node.values === "object") ? value.nodes : null;
  } catch {
    return null;
  }
}

/** A name that nobody has yet: `plan`, `plan-2`, … */
export function freeName(wanted: string, taken: ReadonlySet<string>): string {
  if (!taken.has(wanted)) return wanted;
  const stem = wanted.replace(/-\d+$/, "");
  for (let n = 2; ; n++) if (!taken.has(`${stem}-${n}`)) return `${stem}-${n}`;
}

/** Adds the nodes with their values: the first behind `after`, the others on their own. */
export function pasteOperations(nodes: CopiedNode[], taken: ReadonlySet<string>, place: Partial<Operation>): Operations {
  const names = new Set(taken);
  return nodes.flatMap((node, i): Operations => {
    const id = freeName(node.id, names);
    names.add(id);
    const add = { ...(i === 0 ? place : {}), is: "add", kind: node.kind, id } as Operation;
    let added: string | null = null;
    const fields = Object.entries(node.values).filter(([, value]) => value !== null && value !== undefined);
    return [
      add,
      ...fields.map(([field, value], f) => (result: Edited | null): Operation => {
        if (f === 0) added = result?.select ?? id;
        return { is: "set", node: added, field, value };
      }),
    ];
  });
}
