import { useRef, useState } from "react";
import type { ApiError } from "../../api/client";
import type { Field } from "../../api/types";
import { Coded } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { InlineFailure } from "../../parts/notice";
import { FieldInput } from "./field";
import { cellOf, rowsOf, withCell, type Row } from "./rows";

interface Props {
  field: Field;
  value: unknown;
  onCommit: (value: unknown) => Promise<ApiError | null>;
}

/** A list of objects: a row each. What no cell shows stays as it is, and can be changed as JSON. */
export function RowsInput({ field, value, onCommit }: Props) {
  const columns = field.columns ?? [];
  const rows = rowsOf(value, columns.map(({ path }) => path));
  /** The rows with what was changed last: a cell is left before the change of the one before it has been answered. */
  const now = useRef<Row[]>([]);
  const open = useRef(0);
  const [error, setError] = useState<ApiError | null>(null);
  if (open.current === 0) now.current = rows ?? [];
  if (rows === null) return <FieldInput field={field} value={value} onCommit={onCommit} />;
  const commit = async (change: (rows: Row[]) => Row[]) => {
    const before = now.current;
    const changed = change(before);
    now.current = changed;
    open.current++;
    const refused = await onCommit(changed.length > 0 || field.required ? changed : null);
    open.current--;
    if (refused) now.current = before;
    return refused;
  };
  const first = columns[0]?.path ?? "";
  const add = () => {
    const change = (rows: Row[]) => {
      const taken = new Set(rows.map((row) => cellOf(row, first)));
      let number = rows.length + 1;
      while (taken.has(`new_${number}`)) number++;
      return [...rows, withCell({}, first, `new_${number}`)];
    };
    void commit(change).then(setError);
  };
  return (
    <fieldset className="field block edit-rows" data-path={field.path} tabIndex={-1}>
      <legend>
        {field.label}
        {field.required && <span className="dim"> required</span>}
      </legend>
      <p className="field-help">
        <Coded text={field.help} />
      </p>
      {rows.map((row, nth) => (
        <div key={nth} className="edit-row" role="group" aria-label={`${field.label}, ${nth + 1}`}>
          {columns.map(({ path, label }) => (
            <FieldInput
              key={path}
              cell
              field={{ path: `${field.path}.${nth}.${path}`, label, help: "", type: "text", required: path === first }}
              value={cellOf(row, path)}
              onCommit={(text) => commit((rows) => rows.map((row, at) => (at === nth ? withCell(row, path, typeof text === "string" ? text : "") : row)))}
            />
          ))}
          <button type="button" className="icon-button" title="Remove it" aria-label={`Remove ${cellOf(row, first) || `row ${nth + 1}`}`} onClick={() => void commit((rows) => rows.filter((_, at) => at !== nth)).then(setError)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
      <button type="button" className="button small" onClick={add}>
        Add to {field.label.toLowerCase()}
      </button>
      {error && <InlineFailure error={error} />}
      <details>
        <summary>As JSON</summary>
        <FieldInput field={{ ...field, help: "" }} value={value} onCommit={onCommit} />
      </details>
    </fieldset>
  );
}
