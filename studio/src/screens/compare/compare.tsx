import { useMemo } from "react";
import { get, post, segment } from "../../api/client";
import { useResource } from "../../api/resource";
import type { About, Moment, Run, RunEntry } from "../../api/types";
import { StateChip, Value } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { Failure, Loading } from "../../parts/notice";
import { momentOf, plural } from "../../parts/words";
import { link, note, type Route, type RunRef } from "../../route";
import { loadMoment } from "../run/moment";
import { diffLines } from "../../text/diff";
import { diffStates, diffValues } from "./states";

type CompareRoute = Extract<Route, { screen: "compare" }>;

export function CompareScreen({ route }: { route: CompareRoute }) {
  const left = useSide(route.left);
  const right = useSide(route.right);
  const runs = useResource<{ runs: RunEntry[] }>("runs", (signal) => get("/runs?all=true&limit=200", signal));
  const error = left.error ?? right.error;
  return (
    <div className="page compare">
      <nav className="crumbs" aria-label="Place">
        <a href={link.home()}>Runs</a>
        <Icon name="right" size={14} />
        <a href={link.run(route.left.run, route.left.seq)}>{route.left.run}</a>
        <Icon name="right" size={14} />
        <h1>Compare</h1>
      </nav>
      <datalist id="runs">
        {runs.data?.runs.map((run) => (
          <option key={run.run} value={run.run}>
            {run.workflow}, {run.status}
          </option>
        ))}
      </datalist>
      <div className="sides">
        <Side name="Left" side={left} at={route.left} onChange={(ref) => note(link.compare(ref, route.right))} />
        <Side name="Right" side={right} at={route.right} onChange={(ref) => note(link.compare(route.left, ref))} />
      </div>
      {error ? (
        <Failure error={error} retry={() => (left.reload(), right.reload())} />
      ) : left.moment && right.moment ? (
        <Differences left={left.moment} right={right.moment} about={left.about} />
      ) : (
        <Loading what="both moments" />
      )}
    </div>
  );
}

interface SideData {
  run: Run | null;
  moment: Moment | null;
  about: Record<string, About>;
  error: ReturnType<typeof useResource>["error"];
  reload: () => void;
}

function useSide(ref: RunRef): SideData {
  const run = useResource<Run>(`run ${ref.run}`, (signal) => get(`/runs/${segment(ref.run)}`, signal));
  const seq = ref.seq ?? run.data?.head ?? null;
  const moment = useResource<Moment>(seq === null ? null : `moment ${ref.run} ${seq}`, () => loadMoment(ref.run, seq ?? 0));
  const drawn = useResource<{ about: Record<string, About> }>(`drawing ${ref.run} {"folded":[],"opened":[]}`, (signal) =>
    post(`/runs/${segment(ref.run)}/drawing`, { folded: [], opened: [] }, signal),
  );
  return {
    run: run.data,
    moment: moment.data,
    about: drawn.data?.about ?? {},
    error: run.error ?? moment.error,
    reload: () => (run.reload(), moment.reload()),
  };
}

function Side({ name, side, at, onChange }: { name: string; side: SideData; at: RunRef; onChange: (ref: RunRef) => void }) {
  const head = side.run?.head ?? 1;
  const seq = at.seq ?? head;
  const submit = (event: React.FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const run = String(form.get("run") ?? "").trim();
    if (run) onChange({ run, seq: run === at.run ? Number(form.get("seq")) || null : null });
  };
  return (
    <form className="side" onSubmit={submit} key={`${at.run}@${seq}`}>
      <div className="side-fields">
        <label className="field block">
          <span>{name}: run</span>
          <input name="run" list="runs" defaultValue={at.run} spellCheck={false} onBlur={(event) => event.target.value !== at.run && event.target.form?.requestSubmit()} />
        </label>
        <label className="field block number">
          <span>Record</span>
          <input name="seq" type="number" min={1} max={head} defaultValue={seq} onChange={(event) => onChange({ run: at.run, seq: Math.max(1, Math.min(head, Number(event.target.value) || 1)) })} />
        </label>
        <button type="submit" className="button">
          Show
        </button>
      </div>
      <p className="dim">
        {side.run?.workflow} · {side.moment && momentOf(side.moment.at)} · <a href={link.run(at.run, seq)}>open this moment</a>
      </p>
    </form>
  );
}

function Differences({ left, right, about }: { left: Moment; right: Moment; about: Record<string, About> }) {
  const words = useMemo(() => diffLines(left.words, right.words), [left, right]);
  const values = useMemo(() => diffValues(left.values, right.values), [left, right]);
  const states = useMemo(() => diffStates(left.overlay, right.overlay), [left, right]);
  const changed = words.filter((line) => line.is !== "same").length;
  return (
    <>
      <section className="diff" aria-label="Steps">
        <h2>Steps {states.length > 0 && <span className="count">{states.length}</span>}</h2>
        {states.length === 0 ? (
          <p className="hint">All steps stand the same.</p>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col">Left</th>
                <th scope="col">Right</th>
              </tr>
            </thead>
            <tbody>
              {states.map((change) => (
                <tr key={change.id}>
                  <th scope="row">{about[change.id]?.name ?? change.id}</th>
                  <td>
                    <StateChip state={change.left} /> {change.visits[0] > 1 && `×${change.visits[0]}`}
                  </td>
                  <td>
                    <StateChip state={change.right} /> {change.visits[1] > 1 && `×${change.visits[1]}`}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <section className="diff" aria-label="Values">
        <h2>Values {values.length > 0 && <span className="count">{values.length}</span>}</h2>
        {values.length === 0 ? (
          <p className="hint">All values are the same.</p>
        ) : (
          <table>
            <thead>
              <tr>
                <th scope="col">Value</th>
                <th scope="col">Left</th>
                <th scope="col">Right</th>
              </tr>
            </thead>
            <tbody>
              {values.map((change) => (
                <tr key={change.path}>
                  <th scope="row">
                    <code>{change.path}</code>
                  </th>
                  <td>{change.left === undefined ? <span className="dim">none</span> : <Value value={change.left} label={`${change.path}, left`} />}</td>
                  <td>{change.right === undefined ? <span className="dim">none</span> : <Value value={change.right} label={`${change.path}, right`} />}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </section>
      <section className="diff" aria-label="Situation">
        <h2>
          Situation, as the agent saw it {changed > 0 && <span className="dim">{plural(changed, "line")} differ</span>}
        </h2>
        {changed === 0 && <p className="hint">Word for word the same.</p>}
        <div className="diff-words" tabIndex={0} role="group" aria-label="Difference of the situations">
          {words.map((line, i) => (
            <div key={i} className={line.is}>
              <span className="sign">{line.is === "left" ? "−" : line.is === "right" ? "+" : " "}</span>
              <span className="cell left">{line.is !== "right" && line.text}</span>
              <span className="cell right">{line.is !== "left" && line.text}</span>
            </div>
          ))}
        </div>
      </section>
    </>
  );
}
