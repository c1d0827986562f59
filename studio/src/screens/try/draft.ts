import type { Breakpoint } from "../../api/types";
import { breakpointWords } from "../../graph/stops";
import { inputText, readInput, readJson, readObject, type InputField } from "./schema";

/** How a definition is to be tried, as it stands in the form. */
export interface Draft {
  mode: "form" | "json";
  texts: Record<string, string>;
  json: string;
  description: string;
  who: "servers" | "written" | "recorded";
  /** Answers by node, as JSON. */
  answers: Record<string, string>;
  /** All answers as one object, where the nodes that ask are not known. */
  allAnswers: string;
  recorded: string;
  paused: boolean;
  breakpoints: Breakpoint[];
  model: string;
}

export const EMPTY: Draft = { mode: "form", texts: {}, json: "", description: "", who: "servers", answers: {}, allAnswers: "", recorded: "", paused: false, breakpoints: [], model: "" };

/** What is known of the workflow that is tried. */
export interface Shape {
  root: string | null;
  led: boolean;
  fields: InputField[] | null;
  asks: string[] | null;
}

/** What was hidden in an earlier run. */
const REDACTED = "[redacted]";

/** The form as it was filled in for an earlier run. */
export function draftOf(earlier: { input: Record<string, unknown> | null; description: string | null; run: string }, shape: Shape): Draft {
  const input = Object.fromEntries(Object.entries(earlier.input ?? {}).filter(([, value]) => value !== REDACTED));
  const { fields } = shape;
  const fits = fields !== null && Object.keys(input).every((name) => fields.some((field) => field.name === name));
  return {
    ...EMPTY,
    mode: fits ? "form" : "json",
    texts: Object.fromEntries((fields ?? []).map((field) => [field.name, inputText(field, input[field.name])])),
    json: Object.keys(input).length > 0 ? JSON.stringify(input, null, 2) : "",
    description: earlier.description ?? "",
    who: (shape.asks?.length ?? 0) > 0 ? "recorded" : "servers",
    recorded: earlier.run,
  };
}

/** Turns from fields to JSON or back; JSON that is no object of these fields stays JSON. */
export function turned(draft: Draft, fields: InputField[]): Draft {
  if (draft.mode === "form") {
    const values: Record<string, unknown> = {};
    for (const field of fields) {
      const read = readInput(field, draft.texts[field.name] ?? "");
      if (read && "value" in read) values[field.name] = read.value;
    }
    return { ...draft, mode: "json", json: JSON.stringify(values, null, 2) };
  }
  const read = readObject(draft.json);
  if ("problem" in read || Object.keys(read.value).some((name) => !fields.some((field) => field.name === name))) return draft;
  return { ...draft, mode: "form", texts: Object.fromEntries(fields.map((field) => [field.name, inputText(field, read.value[field.name])])) };
}

export type Problems = Record<string, string>;

/** What is sent to begin the run, or what is wrong in which field: `input.NAME`, `input`, `answers.NODE`, `answers`, `recorded`. */
export function requestOf(draft: Draft, shape: Shape): { request: Record<string, unknown> } | { problems: Problems } {
  const problems: Problems = {};
  const request: Record<string, unknown> = {};
  if (shape.root !== null) request.root = shape.root;
  const input = inputOf(draft, shape.fields, problems);
  if (shape.led) {
    if (draft.description.trim()) request.description = draft.description.trim();
    if (Object.keys(input).length > 0) request.input = input;
    return Object.keys(problems).length > 0 ? { problems } : { request };
  }
  request.input = input;
  if (draft.paused) request.paused = true;
  if (draft.breakpoints.length > 0) request.breakpoints = draft.breakpoints.map(breakpointWords);
  if (draft.model.trim()) request.model = draft.model.trim();
  if (shape.asks?.length !== 0) {
    if (draft.who === "written") request.answers = answersOf(draft, shape.asks, problems);
    if (draft.who === "recorded" && draft.recorded) request.recorded = draft.recorded;
    else if (draft.who === "recorded") problems.recorded = "Choose a run.";
  }
  return Object.keys(problems).length > 0 ? { problems } : { request };
}

/** The input as it stands in the form; what is wrong with it is put into `problems`. */
export function inputOf(draft: Draft, fields: InputField[] | null, problems: Problems): Record<string, unknown> {
  if (fields === null || draft.mode === "json") {
    const read = readObject(draft.json);
    if ("value" in read) return read.value;
    problems.input = read.problem;
    return {};
  }
  const input: Record<string, unknown> = {};
  for (const field of fields) {
    const read = readInput(field, draft.texts[field.name] ?? "");
    if (read && "value" in read) input[field.name] = read.value;
    else if (read) problems[`input.${field.name}`] = read.problem;
  }
  return input;
}

function answersOf(draft: Draft, asks: string[] | null, problems: Problems): Record<string, unknown> {
  let answers: Record<string, unknown> = {};
  if (asks === null) {
    const read = readObject(draft.allAnswers);
    if ("value" in read) answers = read.value;
    else problems.answers = read.problem;
  }
  for (const node of asks ?? []) {
    const text = draft.answers[node] ?? "";
    if (text.trim() === "") continue;
    const read = readJson(text);
    if ("value" in read) answers[node] = read.value;
    else problems[`answers.${node}`] = read.problem;
  }
  if (Object.keys(answers).length === 0 && Object.keys(problems).every((name) => !name.startsWith("answers"))) problems.answers = "Write at least one answer down.";
  return answers;
}
