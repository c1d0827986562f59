import { useId } from "react";
import type { Field, Kind } from "../../api/types";
import { Coded } from "../../parts/bits";
import { valueOf } from "./field";

/** What a new step is asked for, as texts by the paths of the fields. */
export type Asked = Record<string, string>;

export const askedOf = (kind: Kind | undefined): Field[] => kind?.fields.filter((field) => field.asked === true) ?? [];

/** The values that the texts mean: those left empty are not among them. */
export function valuesOf(fields: Field[], texts: Asked): Record<string, unknown> {
  return Object.fromEntries(
    fields.flatMap((field) => {
      const text = (texts[field.path] ?? "").trim();
      if (text === "") return [];
      const read = valueOf(field, field.type === "list" ? text.replaceAll(/[,\s]+/g, "\n") : text);
      return [[field.path, "value" in read ? read.value : text]];
    }),
  );
}

/** Inputs for what most steps of a kind have. What is left empty can be filled in later, in the form of the step. */
export function AskedFields({ fields, texts, onTexts }: { fields: Field[]; texts: Asked; onTexts: (texts: Asked) => void }) {
  return fields.map((field) => <AskedField key={field.path} field={field} text={texts[field.path] ?? ""} onText={(text) => onTexts({ ...texts, [field.path]: text })} />);
}

const HINTS: Partial<Record<Field["type"], string>> = { list: "Several are separated by commas.", long: "Enter adds the step, Shift+Enter begins a new line." };

/** Most such texts are one line: Enter sends the dialog, as it does in the other inputs. */
function sendOnEnter(event: React.KeyboardEvent<HTMLTextAreaElement>) {
  if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
  event.preventDefault();
  event.currentTarget.form?.requestSubmit();
}

function AskedField({ field, text, onText }: { field: Field; text: string; onText: (text: string) => void }) {
  const id = useId();
  const shared = { id, value: text, autoComplete: "off", placeholder: "may be filled in later", "aria-describedby": `${id}-help` };
  return (
    <div className="field block">
      <label htmlFor={id}>{field.label}</label>
      {field.type === "long" ? (
        <textarea {...shared} rows={2} onChange={(event) => onText(event.target.value)} onKeyDown={sendOnEnter} />
      ) : (
        <input {...shared} type="text" className={field.type === "text" ? undefined : "mono"} spellCheck={false} onChange={(event) => onText(event.target.value)} />
      )}
      <p id={`${id}-help`} className="dim">
        <Coded text={[field.help, HINTS[field.type]].filter(Boolean).join(" ")} />
      </p>
    </div>
  );
}
