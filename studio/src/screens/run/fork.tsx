import { useId, useState } from "react";
import { post, segment, toApiError, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Drawing, Moment, Run } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { InlineFailure } from "../../parts/notice";
import { go, link } from "../../route";
import { aboutName, changed, readChanges, type Change } from "./changes";
import { loadMoment } from "./moment";

interface Props {
  run: Run;
  seq: number;
  /** What is drawn of the run: what stands behind the names. */
  drawing: Drawing | null;
  onClose: () => void;
}

export function ForkDialog({ run, seq, drawing, onClose }: Props) {
  const [changes, setChanges] = useState<Change[]>([]);
  const [definition, setDefinition] = useState("pinned");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const moment = useResource<Moment>(`moment ${run.run} ${seq}`, () => loadMoment(run.run, seq));
  const values = moment.data?.values.find((frame) => frame.frame === "")?.value ?? {};
  const read = readChanges(changes);
  const isFunction = run.definition.led === false;

  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    if (!read.set || sending) return;
    setSending(true);
    // What was copied and left as it was is no change.
    const set = changed(read.set, values);
    try {
      const made = await post<{ run: string }>(`/runs/${segment(run.run)}/fork`, {
        seq,
        ...(definition === "current" ? { definition } : {}),
        ...(Object.keys(set).length > 0 ? { set } : {}),
      });
      onClose();
      go(link.run(made.run));
    } catch (failure) {
      setError(toApiError(failure));
      setSending(false);
    }
  };

  return (
    <Dialog title={isFunction ? `Run again from record ${seq}` : `Fork from record ${seq}`} onClose={onClose} typed={changes.length > 0}>
      <form onSubmit={(event) => void submit(event)}>
        <p>
          A new run begins with everything that happened up to record {seq} of <code>{run.run}</code>. The old run stays as it is.
        </p>
        <label className="field block">
          <span>Definition</span>
          <select value={definition} onChange={(event) => setDefinition(event.target.value)}>
            <option value="pinned">The one that this run began with</option>
            <option value="current">The one that is on disk now</option>
          </select>
        </label>
        {definition === "current" && (
          <p className="dim">
            {isFunction
              ? "The step that it is at has to be there still, and what it was checked for so far has to be the same."
              : "An agent's run is carried over by a person, in a terminal: "}
            {!isFunction && (
              <code>
                portolan runs fork {run.run} --at {seq} --definition current
              </code>
            )}
          </p>
        )}
        <Changes run={run.run} changes={changes} problems={read.problems} values={values} drawing={drawing} onChange={setChanges} />
        <p className="dim">
          {isFunction ? "What a node came to can be changed, and so can variables." : "Variables can be changed."} {Object.keys(values).length === 0 && moment.data && "Nothing has a value at this record."}
        </p>
        {isFunction && <p className="dim">The new run waits until you press “Go on”.</p>}
        {error && <InlineFailure error={error} />}
        <div className="actions end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={!read.set || sending}>
            {sending ? "Forking…" : "Fork"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface ChangesProps {
  run: string;
  changes: Change[];
  problems: Record<number, string>;
  /** What has a value, and which. */
  values: Record<string, unknown>;
  drawing: Drawing | null;
  onChange: (changes: Change[]) => void;
}

function Changes({ run, changes, problems, values, drawing, onChange }: ChangesProps) {
  const id = useId();
  const left = Object.keys(values).filter((name) => !changes.some((change) => change.name === name));
  const put = (at: number, change: Change) => onChange(changes.map((other, i) => (i === at ? change : other)));
  const rename = (at: number, { name: before, text }: Change, name: string) => {
    // What somebody has written stays; what only stood there as the value of another name does not.
    const stood = text === "" || text === textOf(values[before]);
    put(at, { name, text: stood && name in values ? textOf(values[name]) : stood ? "" : text });
  };
  return (
    <fieldset className="changes">
      <legend>Changed values</legend>
      <datalist id={`${id}-names`}>
        {Object.keys(values).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      {changes.map((change, i) => (
        <div key={i} className="change-row" role="group" aria-label={change.name || "A value to change"}>
          <input
            type="text"
            className="mono"
            list={`${id}-names`}
            autoComplete="off"
            spellCheck={false}
            aria-label="Name of the node or variable"
            placeholder={Object.keys(values)[0] ?? "name"}
            value={change.name}
            onChange={(event) => rename(i, change, event.target.value)}
          />
          <button type="button" className="icon-button" aria-label={`Leave ${change.name || "this"} as it is`} title="Leave it as it is" onClick={() => onChange(changes.filter((_, at) => at !== i))}>
            <Icon name="close" />
          </button>
          <textarea
            className="mono grows"
            rows={2}
            spellCheck={false}
            aria-label={`Value of ${change.name || "it"}, as JSON`}
            aria-invalid={problems[i] !== undefined && change.text !== ""}
            placeholder={textOf(values[change.name] ?? Object.values(values)[0] ?? { name: "value" })}
            aria-describedby={`${id}-${i}`}
            value={change.text}
            onChange={(event) => put(i, { ...change, text: event.target.value })}
          />
          <p id={`${id}-${i}`} className="field-problem" aria-live="polite">
            {problems[i] ?? ""} {aboutName(change.name, values, drawing)}
          </p>
        </div>
      ))}
      <div className="actions">
        <button type="button" className="button small" onClick={() => onChange([...changes, { name: "", text: "" }])}>
          <Icon name="plus" />
          Change a value
        </button>
        {left.length > 0 && (
          <button type="button" className="button small" onClick={() => onChange([...changes.filter((change) => change.name || change.text), ...left.map((name) => ({ name, text: textOf(values[name]) }))])}>
            <Icon name="plus" />
            Copy the values of {run}
          </button>
        )}
      </div>
    </fieldset>
  );
}

const textOf = (value: unknown) => JSON.stringify(value, null, 2) ?? "";
