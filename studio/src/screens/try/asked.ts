import type { DrawnNode, Drawing } from "../../api/types";

/** A node whose answer can be written down: where it stands, and what it calls. */
export interface Asked {
  /** As the request names it: `node`, or `function.node`. */
  name: string;
  words: string;
  /** Whether it is called once for each item of a list. */
  each: boolean;
}

/** What is known of each name from a drawing in which everything is open. */
export function askedIn(names: string[], drawing: Drawing | null): Asked[] {
  return names.map((name) => {
    const cut = name.lastIndexOf(".");
    const [flow, id] = [cut < 0 ? null : name.slice(0, cut), name.slice(cut + 1)];
    const node = drawing?.nodes.find((entry) => entry.node === id && (flow === null || entry.flow === flow));
    const around = node && drawing ? containersOf(node, drawing) : [];
    const words = node ? [node.detail, ...around.map((outer) => `inside ${nameOf(outer)}${outer.detail ? `, which ${outer.detail}` : ""}`)] : flow === null ? [] : [`the node ${id} of ${flow}`];
    return { name, words: sentence(words.filter(Boolean).join(", ")), each: around.some((outer) => outer.kind === "forEach" || outer.kind === "repeat" || outer.kind === "loop") };
  });
}

/** What can be folded, all of it, so that the drawing holds the nodes inside. */
export const foldedIn = (drawing: Drawing | null) => drawing?.nodes.filter((node) => node.container === "folded").map((node) => node.id) ?? [];

function containersOf(node: DrawnNode, drawing: Drawing): DrawnNode[] {
  const outer = drawing.nodes.find((entry) => entry.id === node.parent);
  return outer ? [outer, ...containersOf(outer, drawing)] : [];
}

const nameOf = (node: DrawnNode) => (node.name === node.node || node.node === null ? node.name : `${node.name} (${node.node})`);
const sentence = (words: string) => (words ? `${words[0]?.toUpperCase()}${words.slice(1)}.` : "");

/** The recorded answer of a name: a run has them by function and node. */
export function recordedOf(name: string, answers: Record<string, unknown>): unknown {
  if (name in answers) return answers[name];
  const full = Object.keys(answers).find((key) => key.endsWith(`.${name}`));
  return full === undefined ? undefined : answers[full];
}

/** What an answer looks like: that of an earlier run where there is one. */
export function exampleOf(asked: Asked, answers: Record<string, unknown>): string {
  const recorded = recordedOf(asked.name, answers);
  const example = recorded ?? (asked.each ? { each: [{ field: "the answer for the first item" }, { field: "the answer for all others" }] } : { field: "what the tool answers" });
  const text = JSON.stringify(example, null, 2);
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`;
}

const LONGEST = 400;
