import { useId } from "react";
import type { Draft, Problems } from "./draft";
import { turned } from "./draft";
import { inputText, type InputField } from "./schema";

interface Props {
  draft: Draft;
  fields: InputField[] | null;
  problems: Problems;
  onChange: (change: Partial<Draft>) => void;
}

/** What the run is given: fields where its schema says which, and JSON otherwise. */
export function InputFields({ draft, fields, problems, onChange }: Props) {
  const asJson = fields === null || draft.mode === "json";
  return (
    <fieldset>
      <legend>Input</legend>
      {fields !== null && fields.length > 0 && (
        <div className="choice-row" role="group" aria-label="How the input is written">
          {(["form", "json"] as const).map((mode) => (
            <button key={mode} type="button" className="button small" aria-pressed={draft.mode === mode} onClick={() => draft.mode !== mode && onChange(turned(draft, fields))}>
              {mode === "form" ? "Fields" : "JSON"}
            </button>
          ))}
        </div>
      )}
      {asJson ? (
        <JsonField label="Input, as a JSON object" text={draft.json} problem={problems.input} help={fields === null ? "This definition does not say which fields there are." : "Empty is an empty object."} onText={(json) => onChange({ json })} />
      ) : fields.length === 0 ? (
        <p className="hint">It takes no input.</p>
      ) : (
        fields.map((field) => (
          <OneField key={field.name} field={field} text={draft.texts[field.name] ?? ""} problem={problems[`input.${field.name}`]} onText={(text) => onChange({ texts: { ...draft.texts, [field.name]: text } })} />
        ))
      )}
    </fieldset>
  );
}

interface FieldProps {
  field: InputField;
  text: string;
  problem: string | undefined;
  onText: (text: string) => void;
}

function OneField({ field, text, problem, onText }: FieldProps) {
  const id = useId();
  const fallback = field.default === undefined ? undefined : inputText(field, field.default);
  const shared = {
    id,
    value: text,
    "aria-invalid": problem !== undefined,
    "aria-required": field.required && field.default === undefined,
    "aria-describedby": `${id}-help`,
    onChange: (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>) => onText(event.target.value),
  };
  const typed = { ...shared, placeholder: fallback === undefined ? undefined : `${fallback}, the default`, spellCheck: false, autoComplete: "off" };
  const choices = field.type === "boolean" ? ["yes", "no"] : field.choices;
  return (
    <div className="field block edit-field">
      <label htmlFor={id}>
        {field.label}
        {field.required && field.default === undefined && <span className="dim"> required</span>}
      </label>
      {field.type === "boolean" || field.type === "choice" ? (
        <select {...shared}>
          <option value="">{fallback === undefined ? "–" : `default: ${shownChoice(fallback)}`}</option>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {shownChoice(choice)}
            </option>
          ))}
        </select>
      ) : field.secret ? (
        <input {...typed} type="password" />
      ) : field.type === "number" || field.type === "integer" ? (
        <input {...typed} type="text" inputMode={field.type === "integer" ? "numeric" : "decimal"} />
      ) : (
        <textarea {...typed} className={field.type === "json" ? "grows mono" : "grows"} rows={field.type === "json" ? 2 : 1} />
      )}
      <Help id={id} problem={problem} help={field.help} />
    </div>
  );
}

/** A choice is written as JSON, and a text is shown without its quotes. */
const shownChoice = (choice: string) => choice.replace(/^"(.*)"$/s, "$1");

interface JsonProps {
  label: string;
  text: string;
  problem: string | undefined;
  help?: string;
  /** What a value looks like. */
  placeholder?: string;
  rows?: number;
  onText: (text: string) => void;
}

export function JsonField({ label, text, problem, help, placeholder, rows = 4, onText }: JsonProps) {
  const id = useId();
  return (
    <div className="field block edit-field">
      <label htmlFor={id}>{label}</label>
      <textarea id={id} className="grows mono" rows={rows} spellCheck={false} placeholder={placeholder} value={text} aria-invalid={problem !== undefined} aria-describedby={`${id}-help`} onChange={(event) => onText(event.target.value)} />
      <Help id={id} problem={problem} help={help} />
    </div>
  );
}

const Help = ({ id, problem, help }: { id: string; problem: string | undefined; help: string | undefined }) => (
  <p id={`${id}-help`} className={problem ? "field-problem bad" : "field-help"} aria-live="polite">
    {problem ?? help}
  </p>
);
