import { get, segment } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Moment, RecordLine } from "../../api/types";
import { By, Coded, Value } from "../../parts/bits";
import { Failure, Loading } from "../../parts/notice";
import { momentOf } from "../../parts/words";

export function SituationPane({ moment }: { moment: Moment | null }) {
  if (!moment) return <Loading what="the situation" />;
  return (
    <div className="situation">
      <p className="dim">What the agent is told at record {moment.seq}, by what is trusted today.</p>
      {moment.words.includes("HITL") && <p className="dim">To an agent, “HITL” (a human in the loop) means: stop, a person is to be asked.</p>}
      <pre className="words" tabIndex={0} role="group" aria-label="Situation">
        {moment.words || "(nothing)"}
      </pre>
      {moment.situation !== undefined && moment.situation !== null && (
        <details>
          <summary>As data</summary>
          <Value value={moment.situation} label="Situation as data" />
        </details>
      )}
    </div>
  );
}

export function ValuesPane({ moment }: { moment: Moment | null }) {
  if (!moment) return <Loading what="the values" />;
  const frames = moment.values.filter((frame) => Object.keys(frame.value).length > 0);
  if (frames.length === 0) return <p className="hint">No values at this moment.</p>;
  return (
    <div className="values">
      {frames.map(({ frame, value }) => (
        <section key={frame}>
          <h2>{frame === "" ? "Run" : frame}</h2>
          <dl>
            {Object.entries(value).map(([name, entry]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{isShort(entry) ? <code className={typeof entry}>{JSON.stringify(entry)}</code> : <Value value={entry} label={name} />}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </div>
  );
}

const isShort = (value: unknown) => typeof value !== "object" || value === null ? String(value).length < 60 : JSON.stringify(value).length < 40;

export function RecordPane({ run, seq, line }: { run: string; seq: number; line: RecordLine | undefined }) {
  const { data, error, reload } = useResource<unknown>(seq > 0 ? `record ${run} ${seq}` : null, (signal) => get(`/runs/${segment(run)}/records/${seq}`, signal), true);
  return (
    <div className="record-pane">
      {line && (
        <>
          <h2>
            <Coded text={line.text} />
          </h2>
          <p className="dim">
            <By by={line.by} /> · {momentOf(line.at)} · {line.kind}
          </p>
        </>
      )}
      {error ? <Failure error={error} retry={reload} /> : data ? <Value value={data} label={`Record ${seq}`} /> : <Loading what="the record" />}
    </div>
  );
}
