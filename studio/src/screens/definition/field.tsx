import { Suspense, useEffect, useId, useRef, useState } from "react";
import type { ApiError } from "../../api/client";
import type { Field } from "../../api/types";
import { ExpressionAid } from "../../code/later";
import { Coded } from "../../parts/bits";
import { InlineFailure } from "../../parts/notice";
import type { Evaluation } from "../expression/over";
import { useDraft } from "./drafts";
import { isOtherName } from "./fault";

interface Props {
  field: Field;
  value: unknown;
  onCommit: (value: unknown) => Promise<ApiError | null>;
  /** Where an expression is evaluated while it is being written. */
  evaluation?: { of: Evaluation; node: string | null } | null;
  /** In a row of others, below the name of them all: without its key. */
  cell?: boolean;
}

/** A field of a form. What is typed is a draft until it is left or confirmed; Escape takes it back. */
export function FieldInput({ field: given, value, onCommit, evaluation, cell = false }: Props) {
  // Where a list may also be an object, that one is shown as it is.
  const field: Field = given.type === "list" && value !== null && typeof value === "object" && !Array.isArray(value) ? { ...given, type: "json" } : given;
  const keyed = !cell && isOtherName(field);
  const written = textOf(field, value);
  const [draft, setDraft] = useState(written);
  const [problem, setProblem] = useState<string | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [takenBack, setTakenBack] = useState(false);
  const id = useId();
  const known = useRef(written);
  const latest = useRef(draft);
  /** What was typed, and taken back with Escape. */
  const dropped = useRef<string | null>(null);
  const area = useRef<HTMLTextAreaElement>(null);
  latest.current = draft;
  useDraft(id, field.label, draft !== written, problem);

  useEffect(() => {
    // A value that changes under an untouched draft is shown; what somebody is typing stays.
    if (latest.current === known.current) setDraft(written);
    known.current = written;
  }, [written]);

  const commit = async (text: string) => {
    if (text === written) return setProblem(null);
    const read = valueOf(field, text);
    if ("problem" in read) return setProblem(read.problem);
    setProblem(null);
    known.current = text;
    setError(await onCommit(read.value));
  };

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && dropped.current !== null && draft === written) {
      // What Escape took away is nearer than the last change of the definition.
      setDraft(dropped.current);
      dropped.current = null;
      setTakenBack(false);
      event.preventDefault();
      event.stopPropagation();
      return;
    }
    if (event.key === "Escape" && draft !== written) {
      dropped.current = draft;
      setTakenBack(true);
      setDraft(written);
      setProblem(null);
      setError(null);
      event.stopPropagation();
      return;
    }
    const ends = field.type === "long" || field.type === "list" || field.type === "json" ? event.ctrlKey || event.metaKey : !event.shiftKey;
    if (event.key === "Enter" && ends && !event.nativeEvent.isComposing) {
      event.preventDefault();
      void commit(draft);
    }
  };

  const shared = {
    id,
    "data-path": field.path,
    "data-draft": draft === written ? undefined : "",
    "aria-invalid": problem !== null,
    "aria-describedby": keyed ? `${id}-key ${id}-help` : `${id}-help`,
    required: field.required,
    onKeyDown,
  };
  const typed = {
    ...shared,
    value: draft,
    spellCheck: field.type === "long",
    placeholder: field.default === undefined || field.default === null ? undefined : `${textOf(field, field.default)}, the default`,
    onChange: (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => {
      dropped.current = null;
      setTakenBack(false);
      setDraft(event.target.value);
    },
    onBlur: () => {
      dropped.current = null;
      setTakenBack(false);
      void commit(draft);
    },
  };

  return (
    <div className="field block edit-field">
      <div className="field-label">
        <label htmlFor={id}>
          {field.label}
          {field.required && <span className="dim"> required</span>}
        </label>
        {keyed && <code id={`${id}-key`}>{field.path}</code>}
      </div>
      {field.type === "choice" || field.type === "boolean" ? (
        <select
          {...shared}
          value={draft}
          onChange={(event) => {
            setDraft(event.target.value);
            void commit(event.target.value);
          }}
        >
          {(!field.required || draft === "") && <option value="">{field.default === undefined || field.default === null ? "–" : `default: ${textOf(field, field.default)}`}</option>}
          {options(field, draft).map((choice) => (
            <option key={choice} value={choice}>
              {CHOICES[choice] ?? choice}
            </option>
          ))}
        </select>
      ) : field.type === "text" || field.type === "number" ? (
        <input {...typed} type="text" inputMode={field.type === "number" ? "decimal" : undefined} autoComplete="off" />
      ) : (
        <textarea {...typed} ref={area} className={field.type === "long" ? "grows" : "grows mono"} rows={rowsOf(draft, field.type)} />
      )}
      {field.type === "expression" && evaluation && (
        <Suspense fallback={null}>
          <ExpressionAid evaluation={evaluation.of} node={evaluation.node} path={field.path} field={area} text={draft} onText={setDraft} />
        </Suspense>
      )}
      <p id={`${id}-help`} className={problem ? "field-problem bad" : "field-help"} aria-live="polite">
        <Coded text={problem ?? (takenBack ? "What you typed is taken back: Ctrl+Z brings it again, Esc leaves the field." : [field.help, HINTS[field.type]].filter(Boolean).join(" "))} />
      </p>
      {error && <InlineFailure error={error} />}
    </div>
  );
}

/** Words of a format that say too little by themselves. */
const CHOICES: Record<string, string> = {
  hitl: "a person (hitl)",
  forEach: "for each item (forEach)",
  while: "while the condition holds (while)",
  doWhile: "once, then while the condition holds (doWhile)",
};
const HINTS: Partial<Record<Field["type"], string>> = { list: "One item a line.", json: "In JSON." };
const MOST_ROWS = 18;
const LETTERS_A_ROW = 40;

function rowsOf(text: string, type: Field["type"]): number {
  const rows = text.split("\n").reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / LETTERS_A_ROW)), 0);
  return Math.min(MOST_ROWS, Math.max(type === "expression" ? 1 : 2, rows));
}

function options(field: Field, value: string): string[] {
  const choices = field.type === "boolean" ? ["yes", "no"] : (field.choices ?? []);
  // What is written may be none of the choices; it is shown all the same.
  return value === "" || choices.includes(value) ? choices : [...choices, value];
}

export function textOf(field: Field, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (field.type === "boolean" && typeof value === "boolean") return value ? "yes" : "no";
  if (field.type === "list" && Array.isArray(value)) return value.map((item) => (typeof item === "string" ? item : JSON.stringify(item))).join("\n");
  if (field.type === "json") return JSON.stringify(value, null, 2);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The value that a text means; nothing at all takes the field away. */
export function valueOf(field: Field, text: string): { value: unknown } | { problem: string } {
  if (text.trim() === "") return field.required ? { problem: "This cannot be empty." } : { value: null };
  switch (field.type) {
    case "number": {
      const number = Number(text);
      return Number.isFinite(number) ? { value: number } : { problem: "This has to be a number." };
    }
    case "boolean":
      return { value: text === "yes" };
    case "list":
      return { value: text.split("\n").map((line) => line.trim()).filter(Boolean) };
    case "json":
      try {
        return { value: JSON.parse(text) as unknown };
      } catch (error) {
        return { problem: `This is not JSON yet: ${(error as Error).message}` };
      }
    default:
      return { value: text };
  }
}
