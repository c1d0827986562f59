import type { Field, Kind } from "../../api/types";
import { freeName } from "./copy";

/** The field with what people call a step, where the format has one besides the id. */
export const titleOf = (kind: Kind | undefined): Field | undefined => kind?.fields.find(({ path }) => path === "name" || path === "title");

/** The id of a step of an activity, as the text has it: without that of the activity. */
export const ownPart = (id: string): string => id.slice(id.lastIndexOf(".") + 1);

/** The ids that a new step cannot have, as the graph and as the text have them. */
export const takenIds = (nodes: readonly { id: string; node?: string | null }[]): Set<string> => new Set(nodes.flatMap((node) => [node.node ?? node.id, ownPart(node.node ?? node.id)]));

/** An id made of a title: as the other ids of the definition join their words. */
export function idOf(title: string, taken: ReadonlySet<string>): string {
  const joint = [...taken].some((id) => id.includes("-")) ? "-" : "_";
  const words = title.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase().split(/[^a-z0-9]+/).filter(Boolean);
  const id = words.join(joint).replace(/^(?=\d)/, `step${joint}`);
  return id === "" ? "" : freeName(id, taken);
}

/** The first kind with a word in its label that begins with `text`. The same letter, typed repeatedly, goes through all of its kinds. */
export function choiceOf(kinds: Kind[], chosen: string, text: string): Kind | undefined {
  const begin = (text: string) => kinds.filter(({ label }) => label.toLowerCase().split(/\W+/).some((word) => word.length > 1 && word.startsWith(text)));
  const [whole] = begin(text);
  const letter = text.charAt(0);
  if (whole && text.length > 1) return whole;
  if (text !== letter.repeat(text.length)) return undefined;
  const all = begin(letter);
  return all[(all.findIndex(({ kind }) => kind === chosen) + 1) % all.length];
}
