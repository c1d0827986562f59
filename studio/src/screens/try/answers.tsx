import { useId, useState } from "react";
import { get, segment, toApiError, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import type { RecordedAnswers, RunEntry } from "../../api/types";
import { InlineFailure } from "../../parts/notice";
import { momentOf, plural } from "../../parts/words";
import { exampleOf, recordedOf, type Asked } from "./asked";
import type { Draft, Problems } from "./draft";
import { JsonField } from "./input";

interface Props {
  draft: Draft;
  /** The nodes that ask a tool or a model; nothing where they are not known. */
  asks: Asked[] | null;
  /** Earlier runs of this workflow. */
  runs: RunEntry[];
  problems: Problems;
  onChange: (change: Partial<Draft>) => void;
}

const answersOf = (run: string, signal?: AbortSignal) => get<RecordedAnswers>(`/runs/${segment(run)}/answers`, signal);

/** How an answer is written, each with what it means. */
const FORMS: [string, string][] = [
  ['{ "field": … }', "what the tool answers, field by field, before the node makes anything of it"],
  ['{ "content": "…" }', "the same for a tool that answers with text"],
  ['{ "each": […, …] }', "one answer for each call; the last serves all that follow"],
  ['{ "error": "why" }', "the call fails"],
];

/** Who answers what tools and models are asked. */
export function AnswerFields({ draft, asks, runs, problems, onChange }: Props) {
  const id = useId();
  const newest = runs[0]?.run;
  const known = useResource<RecordedAnswers>(draft.who === "written" && newest !== undefined ? `answers ${newest}` : null, (signal) => answersOf(newest ?? "", signal), true);
  const examples = known.data?.answers ?? {};
  if (asks?.length === 0) return null;
  const ways: [Draft["who"], string, string][] = [
    ["servers", "The servers and models", "They are started and asked as in any other run; a person has to trust them first."],
    ["written", "Answers that are written here", "Nothing is started, and nothing changes."],
    ["recorded", "The answers of an earlier run", "Nothing is started: what was answered then is answered again."],
  ];
  return (
    <fieldset>
      <legend>Who answers</legend>
      <div className="options">
        {ways
          .filter(([who]) => who !== "recorded" || asks !== null)
          .map(([who, title, meaning]) => (
            <label key={who} className="option">
              <input type="radio" name={id} value={who} checked={draft.who === who} onChange={() => onChange({ who })} />
              <span>
                <b>{title}</b>
                <span className="dim">{meaning}</span>
              </span>
            </label>
          ))}
      </div>
      {draft.who === "written" && (
        <>
          <dl className="forms">
            {FORMS.map(([form, meaning]) => (
              <div key={form}>
                <dt>
                  <code>{form}</code>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
          {asks === null ? (
            <JsonField label="Answers by node, as a JSON object" text={draft.allAnswers} problem={problems.answers} onText={(allAnswers) => onChange({ allAnswers })} />
          ) : (
            <>
              <CopyAnswers asks={asks} runs={runs} draft={draft} onAnswers={(answers) => onChange({ answers: { ...draft.answers, ...answers } })} />
              {asks.map((asked) => (
                <JsonField
                  key={asked.name}
                  label={asked.name}
                  rows={2}
                  help={asked.words}
                  placeholder={exampleOf(asked, examples)}
                  text={draft.answers[asked.name] ?? ""}
                  problem={problems[`answers.${asked.name}`]}
                  onText={(text) => onChange({ answers: { ...draft.answers, [asked.name]: text } })}
                />
              ))}
              {problems.answers && (
                <p className="field-problem bad" role="alert">
                  {problems.answers}
                </p>
              )}
            </>
          )}
        </>
      )}
      {draft.who === "recorded" && (
        <div className="field block edit-field">
          <label htmlFor={`${id}-run`}>Run</label>
          <select id={`${id}-run`} value={draft.recorded} aria-invalid={problems.recorded !== undefined} aria-describedby={`${id}-help`} onChange={(event) => onChange({ recorded: event.target.value })}>
            <option value="">–</option>
            {draft.recorded !== "" && !runs.some((run) => run.run === draft.recorded) && <option value={draft.recorded}>{draft.recorded}</option>}
            {runs.map((run) => (
              <option key={run.run} value={run.run}>
                {run.run} · {run.status} · {momentOf(Date.parse(run.updatedAt))}
              </option>
            ))}
          </select>
          <p id={`${id}-help`} className={problems.recorded ? "field-problem bad" : "field-help"} aria-live="polite">
            {problems.recorded ?? (runs.length === 0 ? "There is no earlier run of this workflow." : "")}
          </p>
        </div>
      )}
    </fieldset>
  );
}

interface CopyProps {
  asks: Asked[];
  runs: RunEntry[];
  draft: Draft;
  onAnswers: (answers: Record<string, string>) => void;
}

/** Puts what an earlier run was answered with into the form, to be changed by hand. */
function CopyAnswers({ asks, runs, draft, onAnswers }: CopyProps) {
  const id = useId();
  const [run, setRun] = useState(draft.recorded || (runs[0]?.run ?? ""));
  const [said, setSaid] = useState("");
  const [error, setError] = useState<ApiError | null>(null);
  const chosen = run || (runs[0]?.run ?? "");
  if (runs.length === 0) return null;
  const copy = async () => {
    setError(null);
    try {
      const { answers, redacted } = await answersOf(chosen);
      const found = asks.flatMap(({ name }) => {
        const answer = recordedOf(name, answers);
        return answer === undefined ? [] : [[name, JSON.stringify(answer, null, 2)] as const];
      });
      onAnswers(Object.fromEntries(found));
      setSaid(found.length === 0 ? `${chosen} called no tool.` : `${plural(found.length, "answer")} copied from ${chosen}: change them as you like.${redacted ? " What is hidden stands as [redacted]." : ""}`);
    } catch (failure) {
      setSaid("");
      setError(toApiError(failure));
    }
  };
  return (
    <div className="copy-answers">
      <label className="field inline" htmlFor={`${id}-run`}>
        <span>Copy the answers of run</span>
      </label>
      <select id={`${id}-run`} value={chosen} onChange={(event) => setRun(event.target.value)}>
        {runs.map((entry) => (
          <option key={entry.run} value={entry.run}>
            {entry.run} · {entry.status} · {momentOf(Date.parse(entry.updatedAt))}
          </option>
        ))}
      </select>
      <button type="button" className="button small" onClick={() => void copy()}>
        Copy
      </button>
      <p className="dim" role="status">
        {said}
      </p>
      {error && <InlineFailure error={error} />}
    </div>
  );
}
