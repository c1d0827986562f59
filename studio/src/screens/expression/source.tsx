import { useId } from "react";
import { get, segment } from "../../api/client";
import { useResource } from "../../api/resource";
import type { RunEntry } from "../../api/types";
import { useStore } from "../../parts/store";
import { momentOf } from "../../parts/words";
import { readObject } from "../try/schema";
import { overOf, type Evaluation } from "./over";

/** The runs of the workflows of a definition, the one that moved last first. */
export function useRunsOf({ workflows }: Evaluation): RunEntry[] {
  const runs = useResource<{ runs: RunEntry[] }>("runs", (signal) => get("/runs?all=true&limit=200", signal));
  return (runs.data?.runs ?? []).filter((run) => workflows.includes(run.workflow));
}

/** The tests in the file beside a definition. Without the file, or while it has faults, there are none. */
function useTestsOf({ id }: Evaluation): string[] {
  const tests = useResource<{ tests: string[] }>(`tests ${id}`, (signal) => get(`/definitions/${segment(id)}/tests`, signal));
  return tests.data?.tests ?? [];
}

/** What stands before the name of a test among the runs, whose names have no colon. */
const TEST = "test:";

const FORM = '{ "input": {}, "outputs": {}, "variables": {} }';

/** Chooses what the expressions of a form are evaluated over. */
export function ExpressionSource({ evaluation }: { evaluation: Evaluation }) {
  const store = overOf(evaluation.id);
  const over = useStore(store);
  const runs = useRunsOf(evaluation);
  const tests = useTestsOf(evaluation);
  const id = useId();
  const read = over.is === "own" ? readObject(over.text) : null;
  const choose = (value: string) => store.set(value === "own" ? { is: "own", text: FORM } : value === "" ? { is: "last" } : value.startsWith(TEST) ? { is: "test", test: value.slice(TEST.length) } : { is: "run", run: value });
  return (
    <div className="field block edit-field expression-source">
      <label htmlFor={id}>Expressions are evaluated over</label>
      <select id={id} value={over.is === "own" ? "own" : over.is === "run" ? over.run : over.is === "test" ? TEST + over.test : ""} onChange={(event) => choose(event.target.value)}>
        <option value="">{runs[0] ? `the last run (${runs[0].run})` : "no values: there is no run yet"}</option>
        {runs.slice(1).map((run) => (
          <option key={run.run} value={run.run}>
            {run.run} · {run.status} · {momentOf(Date.parse(run.updatedAt))}
          </option>
        ))}
        {tests.map((test) => (
          <option key={TEST + test} value={TEST + test}>
            the test “{test}”
          </option>
        ))}
        <option value="own">values of my own</option>
      </select>
      {over.is === "own" && (
        <>
          <textarea className="mono grows" rows={3} spellCheck={false} aria-label="Values, as a JSON object" aria-invalid={read !== null && "problem" in read} value={over.text} onChange={(event) => store.set({ is: "own", text: event.target.value })} />
          <p className={read && "problem" in read ? "field-problem bad" : "field-help"} aria-live="polite">
            {read && "problem" in read ? read.problem : "The input, what nodes came to by their names, and variables."}
          </p>
        </>
      )}
    </div>
  );
}
