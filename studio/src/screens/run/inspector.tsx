import { get, segment } from "../../api/client";
import { useResource } from "../../api/resource";
import type { About, Moment, NodeOverlay, Overlay, Untrusted, Visit } from "../../api/types";
import { By, CheckList, Coded, StateChip, Value } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { Failure, Loading } from "../../parts/notice";
import { UntrustedNote } from "../../parts/untrusted";
import { arrivedWords, duration, momentOf, passWords, plural, spentWords } from "../../parts/words";
import { link } from "../../route";
import { AboutHead, FactList, Verified } from "../definition/facts";
import { usedBy, valuesAt, writtenIn } from "./changes";
import { loadMoment } from "./moment";
import { Saying } from "./saying";

interface Props {
  run: string;
  seq: number;
  id: string | null;
  chosen: boolean;
  /** Whether the run is over. */
  over: boolean;
  /** Whether the inbox has what the run waits for. */
  asks: boolean;
  about: Record<string, About>;
  overlay: Overlay | null;
  untrusted: Untrusted | null;
  /** Begins another run with the past up to a visit. */
  onAgain: ((seq: number | null) => void) | null;
  /** What can be done at the step while the run is tried. */
  children?: React.ReactNode;
}

export function Inspector({ run, seq, id, chosen, over: ended, asks, about, overlay, untrusted, onAgain, children }: Props) {
  if (id === null) return <p className="hint">Select a step to see its visits: input, output, checks and messages.</p>;
  const entry = about[id];
  const over = overlay?.nodes[id];
  return (
    <div className="facts">
      {entry ? <AboutHead about={entry} /> : <h2>{id}</h2>}
      {!chosen && <p className="dim">{ended ? "It went wrong here." : "The run is here."} Select another step to see that one.</p>}
      <StateLine run={run} over={over} asks={asks} />
      {untrusted && <UntrustedNote lacking={untrusted} step={id.split("/").pop()} />}
      {onAgain && over && (
        <button type="button" className="button small again" title="Run again from this step, with other data if wanted (r)" onClick={() => onAgain(null)}>
          <Icon name="retry" />
          Run again from {entry?.name ?? id}…
        </button>
      )}
      {children}
      <Saying run={run} id={id} />
      <Visits key={id} run={run} seq={seq} id={id} written={writtenIn(entry)} onAgain={onAgain} />
      {entry && <Verified about={entry} />}
      {entry && entry.facts.length > 0 && (
        <details className="definition-facts">
          <summary>In the definition</summary>
          <FactList about={entry} />
        </details>
      )}
    </div>
  );
}

function StateLine({ run, over, asks }: { run: string; over: NodeOverlay | undefined; asks: boolean }) {
  return (
    <p className="state-line">
      <StateChip state={over?.state ?? null} />
      {over && (
        <span className="dim">
          {plural(over.visits, "visit")}
          {over.failures > 0 && `, ${plural(over.failures, "failure")}`}
          {over.budget !== undefined && `, ${over.used} of ${over.budget} retries used`}
          {over.altered && ", changed by hand"}
          {over.state === "waiting" && asks && (
            <>
              , asks in the <a href={link.inbox(run)}>inbox</a>
            </>
          )}
          {over.arrived && `, ${arrivedWords(over.arrived)}`}
          {over.strip && `; passes ${passWords(over.strip).join("; ")}`}
        </span>
      )}
    </p>
  );
}

const MOST_VISITS = 50;

function Visits({ run, seq, id, written, onAgain }: { run: string; seq: number; id: string; written: string[]; onAgain: Props["onAgain"] }) {
  const { data, error, reload } = useResource<{ visits: Visit[]; earlier: number }>(
    `visits ${run} ${id} ${seq}`,
    (signal) => get(`/runs/${segment(run)}/nodes/${segment(id)}?at=${seq}`, signal),
    true,
  );
  if (error && !data) return <Failure error={error} retry={reload} />;
  if (!data) return <Loading what="the visits" />;
  if (data.visits.length === 0) return <p className="hint">Not visited up to record {seq}.</p>;
  // The newest first: it is what one looks for.
  const visits = data.visits.map((visit, i) => ({ visit, number: data.earlier + i + 1 })).reverse();
  const hidden = data.earlier + Math.max(0, visits.length - MOST_VISITS);
  return (
    <>
      <ol className="visits">
        {visits.slice(0, MOST_VISITS).map(({ visit, number }, i) => (
          <li key={number}>
            <details open={i === 0}>
              <summary>
                <b>Visit {number}</b>
                <span className="dim">
                  {took(visit)}
                  {visit.retries > 0 && ` · ${plural(visit.retries, "retry", "retries")}`}
                </span>
                {isFailed(visit) ? <StateChip state="failed" /> : visit.reports?.length ? <span className="tag">{visit.reports.at(-1)?.outcome}</span> : null}
              </summary>
              <VisitBody run={run} visit={visit} number={number} written={written} onAgain={i === 0 ? null : onAgain} />
            </details>
          </li>
        ))}
      </ol>
      {hidden > 0 && <p className="hint">{plural(hidden, "earlier visit")} not shown. Move the slider back to see them.</p>}
    </>
  );
}

/** A report counts only if the checks hold. */
const isFailed = ({ error, checks }: Visit) => error !== undefined || checks?.some(({ held }) => !held) === true;

const took = ({ began, ended }: Visit) => (ended !== undefined && ended > began ? duration((ended - began) * 1_000) : "");

function VisitBody({ run, visit, number, written, onAgain }: { run: string; visit: Visit; number: number; written: string[]; onAgain: Props["onAgain"] }) {
  return (
    <div className="visit">
      <p className="dim">
        {momentOf(visit.began)} {visit.at && <code>{visit.at}</code>}
      </p>
      {onAgain && (
        <button type="button" className="button small" onClick={() => onAgain(visit.seq)}>
          <Icon name="retry" />
          Run again from visit {number}…
        </button>
      )}
      {visit.spent && <p className="dim">{spentWords(visit.spent)}</p>}
      {visit.error && (
        <p className="inline-failure">
          <Icon name="failed" />
          <span>
            <Coded text={visit.error.message} /> <code>{visit.error.code}</code>
          </span>
        </p>
      )}
      {visit.error && visit.input !== undefined && <Part label="Input" value={visit.input} />}
      {visit.error && visit.input === undefined && <ValuesRead run={run} visit={visit} written={written} />}
      {visit.reports?.map((report, i) => (
        <p key={i} className="report">
          <By by={report.by} /> <span className="tag">{report.outcome}</span> {report.note}
        </p>
      ))}
      {visit.expression !== undefined && <Part label="Expression" value={visit.expression} />}
      {!visit.error && visit.input !== undefined && <Part label="Input" value={visit.input} />}
      {visit.output !== undefined && <Part label="Output" value={visit.output} />}
      {visit.altered?.map(({ seq, by, value }) => (
        <section key={seq}>
          <h3>
            Changed at record {seq} <By by={by} />
          </h3>
          <Value value={value} label={`Value since record ${seq}`} />
        </section>
      ))}
      {visit.checks && visit.checks.length > 0 && <CheckList title="Checks" checks={visit.checks} />}
      {(visit.ended !== undefined || visit.reports?.at(-1)?.outcome === "failed") && visit.unchecked && visit.unchecked.length > 0 && (
        <p className="inline-failure">
          <Icon name="warning" />
          <span>
            Left without its {visit.unchecked.length === 1 ? "check" : "checks"} having been run: {visit.unchecked.join(", ")}.
          </span>
        </p>
      )}
      {visit.attempts?.map((found, i) => (
        <CheckList key={i} title={`Attempt ${i + 1}`} checks={found.map((f) => ({ id: f.name, held: f.met, reason: f.reason, output: f.evidence }))} />
      ))}
      {visit.messages && visit.messages.length > 0 && (
        <section>
          <h3>Messages</h3>
          <ol className="messages">
            {visit.messages.map((message, i) => (
              <li key={i}>
                <b>{typeof message.role === "string" ? message.role : JSON.stringify(message.role)}</b>
                {message.text !== "" && <Value value={message.text} label={`Message ${i + 1}`} />}
                {message.tools !== undefined && <Value value={message.tools} label={`Tools of message ${i + 1}`} />}
              </li>
            ))}
          </ol>
        </section>
      )}
    </div>
  );
}

/** The values that a step without an input of its own read before it failed. */
function ValuesRead({ run, visit, written }: { run: string; visit: Visit; written: string[] }) {
  const { data } = useResource<Moment>(`moment ${run} ${visit.seq}`, () => loadMoment(run, visit.seq));
  const values = data ? valuesAt(visit.at, data.values) : {};
  const read = usedBy([visit.expression ?? "", ...written], values);
  return read.map((name) => <Part key={name} label={`Input: ${name}`} value={values[name]} />);
}

function Part({ label, value }: { label: string; value: unknown }) {
  return (
    <section>
      <h3>{label}</h3>
      <Value value={value} label={label} />
    </section>
  );
}
