import { useId, useState } from "react";
import { get, post, segment, toApiError, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import type { About, Control, Drawing, Moment, Run, Visit } from "../../api/types";
import { TerminalCommand } from "../../parts/command";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { Failure, InlineFailure, Loading } from "../../parts/notice";
import { Value } from "../../parts/bits";
import { go, link } from "../../route";
import { aboutName, changed, changeOf, commandOf, readChanges, usedBy, writtenIn, type Change } from "./changes";
import { ENDED, isEnd, loadMoment } from "./moment";

/** From where a run is run again: a record, or the last visit of a step. */
export interface From {
  seq: number | null;
  step: string | null;
  /** The last record that is looked at for the visit. */
  upTo?: number;
  /** Whether the definition is proposed as it is in the file now. */
  current?: boolean;
}

interface Props {
  run: Run;
  from: From;
  about: Record<string, About>;
  /** Where the input of the run is given anew, if anywhere. */
  again: string | null;
  /** What is drawn of the run: what stands behind the names. */
  drawing: Drawing | null;
  onClose: () => void;
}

/** As the button is called that opens it. */
const titleOf = (step: string | null, seq: number | null) => (step === null ? `Branch from record ${seq}` : `Run again from “${step}”`);

/** A form that needs to know the visit, and what had a value there. */
export function ForkDialog(props: Props) {
  const { run, from, about, onClose } = props;
  const upTo = from.upTo ?? run.head;
  const visits = useResource<{ visits: Visit[] }>(from.step === null ? null : `visits ${run.run} ${from.step} ${upTo}`, (signal) =>
    get(`/runs/${segment(run.run)}/nodes/${segment(from.step ?? "")}?at=${upTo}`, signal),
  );
  const visit = visits.data?.visits.filter(({ seq }) => from.seq === null || seq === from.seq).at(-1) ?? null;
  const seq = from.seq ?? visit?.seq ?? null;
  const moment = useResource<Moment>(seq === null ? null : `moment ${run.run} ${seq}`, () => loadMoment(run.run, seq ?? 1));
  const error = visits.error ?? moment.error;
  const ended = moment.data !== null && isEnd(moment.data);
  if (seq !== null && moment.data && !ended && (from.step === null || visits.data)) return <ForkForm {...props} seq={seq} moment={moment.data} visit={visit} />;
  return (
    <Dialog title={titleOf(from.step === null ? null : (about[from.step]?.name ?? from.step), seq)} onClose={onClose}>
      {error ? <Failure error={error} /> : ended ? <p className="hint">Nothing begins at record {seq}: {ENDED}.</p> : visits.data && seq === null ? <p className="hint">The run has not come to this step yet.</p> : <Loading what="what was there" />}
    </Dialog>
  );
}

function ForkForm({ run, from, about, again, drawing, onClose, seq, moment, visit }: Props & { seq: number; moment: Moment; visit: Visit | null }) {
  const values = moment.values.find((frame) => frame.frame === "")?.value ?? {};
  const entry = from.step === null ? null : (about[from.step] ?? null);
  const written = [visit?.expression ?? "", ...writtenIn(entry)];
  // From a step, what it is made of is there to be changed at once.
  const [changes, setChanges] = useState<Change[]>(() => (from.step === null ? [] : usedBy(written, values).map((name) => changeOf(name, values[name]))));
  const [definition, setDefinition] = useState(from.current ? "current" : "pinned");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const read = readChanges(changes);
  const isFunction = run.definition.led === false;
  /** A person carries an agent's run over to another definition, in a terminal. */
  const elsewhere = !isFunction && definition === "current";

  const begin = async (goesOn: boolean) => {
    if (!read.set || sending || elsewhere) return;
    setSending(true);
    // What was copied and left as it was is no change.
    const set = changed(read.set, values);
    try {
      const made = await post<{ run: string }>(`/runs/${segment(run.run)}/fork`, {
        seq,
        ...(definition === "current" ? { definition } : {}),
        ...(Object.keys(set).length > 0 ? { set } : {}),
      });
      // What is refused here is refused on the page of the new run as well, where it is told.
      if (goesOn) await post(`/runs/${segment(made.run)}/control`, { do: "resume" } satisfies Control).catch(() => {});
      onClose();
      go(link.run(made.run));
    } catch (failure) {
      setError(toApiError(failure));
      setSending(false);
    }
  };

  return (
    <Dialog title={titleOf(entry?.name ?? null, seq)} onClose={onClose} typed={changes.length > 0} wide={entry !== null}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void begin(isFunction);
        }}
      >
        <p>
          This creates a new run. It has everything that happened up to record {seq} of <code>{run.run}</code>
          {entry && (
            <>
              , before <b>{entry.name}</b>
            </>
          )}
          , and continues from there. The old run stays as it is.
        </p>
        {entry && visit?.input !== undefined && (
          <details>
            <summary>
              The input of “{entry.name}” in the old run{visit.expression !== undefined && <>: <code>{visit.expression}</code></>}
            </summary>
            <Value value={visit.input} label="Its input" />
          </details>
        )}
        {(isFunction || Object.keys(values).length > 0) && <Changes run={run.run} legend={entry ? `Values that “${entry.name}” reads in the new run` : "Values to change in the new run"} changes={changes} problems={read.problems} values={values} drawing={drawing} onChange={setChanges} />}
        <p className="dim">
          {Object.keys(values).length === 0
            ? "No step has a result yet at this record, so there is nothing to change."
            : isFunction
              ? "You can replace the results of the steps before this point, and variables. Values that you leave as they are stay the same."
              : "You can replace variables. Those that you leave as they are stay the same."}
          {Object.keys(values).length === 0 && isFunction && again !== null && (
            <>
              {" "}
              <a href={again}>New run with this input</a> runs it from the beginning, with another input if you change it.
            </>
          )}
        </p>
        <label className="field block">
          <span>Definition</span>
          <select value={definition} onChange={(event) => setDefinition(event.target.value)}>
            <option value="pinned">As it was when the old run began</option>
            <option value="current">As it is in the file now</option>
          </select>
        </label>
        {definition === "current" && (
          <p className="dim">{elsewhere ? "For a run that an agent follows, a person does this in a terminal:" : "The file must still have the step where the new run begins, with the same checks up to there."}</p>
        )}
        {elsewhere && read.set && <TerminalCommand text={commandOf(run.run, seq, changed(read.set, values))} />}
        {!isFunction && <p className="dim">The new run waits until an agent continues it: tell the agent the name of the new run, which its page shows.</p>}
        {error && <InlineFailure error={error} />}
        <div className="actions end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          {isFunction && (
            <button type="button" className="button" disabled={!read.set || sending} title="The new run waits until you press “Go on” on its page" onClick={() => void begin(false)}>
              Create the new run, paused
            </button>
          )}
          <button type="submit" className="button primary" disabled={!read.set || sending || elsewhere} title={elsewhere ? "A person does this in a terminal, with the command above" : undefined}>
            {sending ? "Creating…" : isFunction ? "Create and run it" : "Create the new run"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface ChangesProps {
  run: string;
  legend: string;
  changes: Change[];
  problems: Record<number, string>;
  /** What has a value, and which. */
  values: Record<string, unknown>;
  drawing: Drawing | null;
  onChange: (changes: Change[]) => void;
}

function Changes({ run, legend, changes, problems, values, drawing, onChange }: ChangesProps) {
  const id = useId();
  const left = Object.keys(values).filter((name) => !changes.some((change) => change.name === name));
  const put = (at: number, change: Change) => onChange(changes.map((other, i) => (i === at ? change : other)));
  const rename = (at: number, change: Change, name: string) => {
    // What somebody has written stays; what only stood there as the value of another name does not.
    const stood = change.text === "" || change.text === changeOf("", values[change.name]).text;
    put(at, !stood ? { ...change, name } : name in values ? changeOf(name, values[name]) : { name, text: "" });
  };
  return (
    <fieldset className="changes">
      <legend>{legend}</legend>
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
            data-first={i === 0 ? true : undefined}
            className="mono grows"
            rows={Math.min(8, Math.max(2, change.text.split("\n").length))}
            spellCheck={false}
            aria-label={`Value of ${change.name || "it"}, as ${change.plain ? "text" : "JSON"}`}
            aria-invalid={problems[i] !== undefined && change.text !== ""}
            placeholder={change.plain ? "" : changeOf("", values[change.name] ?? Object.values(values)[0] ?? { name: "value" }).text}
            aria-describedby={`${id}-${i}`}
            value={change.text}
            onChange={(event) => put(i, { ...change, text: event.target.value })}
          />
          <p id={`${id}-${i}`} className="field-problem" aria-live="polite">
            {/* What is not yet written is no error. */}
            {problems[i] && <span className={change.text === "" ? undefined : "bad"}>{problems[i]} </span>}
            {aboutName(change.name, values, drawing)} {change.plain && "A text: it is taken exactly as it is written here."}
          </p>
          {(change.plain || isText(change.text)) && (
            <button type="button" className="button small" onClick={() => put(i, change.plain ? { name: change.name, text: JSON.stringify(change.text) } : { name: change.name, text: JSON.parse(change.text) as string, plain: true })}>
              {change.plain ? "Write it as JSON instead" : "Write it as text instead"}
            </button>
          )}
        </div>
      ))}
      <div className="actions">
        <button type="button" className="button small" onClick={() => onChange([...changes, { name: "", text: "" }])}>
          <Icon name="plus" />
          {changes.length > 0 ? "Change another value" : "Change a value"}
        </button>
        {left.length > 0 && (
          <button type="button" className="button small" onClick={() => onChange([...changes.filter((change) => change.name || change.text), ...left.map((name) => changeOf(name, values[name]))])}>
            <Icon name="plus" />
            Show all values of {run}
          </button>
        )}
      </div>
    </fieldset>
  );
}

/** Whether it is JSON of a text. */
function isText(json: string): boolean {
  try {
    return typeof JSON.parse(json) === "string";
  } catch {
    return false;
  }
}
