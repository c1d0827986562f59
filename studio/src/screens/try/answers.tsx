import { useId } from "react";
import type { RunEntry } from "../../api/types";
import { momentOf } from "../../parts/words";
import type { Draft, Problems } from "./draft";
import { JsonField } from "./input";

interface Props {
  draft: Draft;
  /** The nodes that ask a tool or a model; nothing where they are not known. */
  asks: string[] | null;
  /** Earlier runs of this workflow. */
  runs: RunEntry[];
  problems: Problems;
  onChange: (change: Partial<Draft>) => void;
}

const FORMS = "What the tool answers, before the node makes anything of it; or {\"error\": \"why\"}, or {\"each\": [one answer a call]}.";

/** Who answers what tools and models are asked. */
export function AnswerFields({ draft, asks, runs, problems, onChange }: Props) {
  const id = useId();
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
          <p className="dim">{FORMS}</p>
          {asks === null ? (
            <JsonField label="Answers by node, as a JSON object" text={draft.allAnswers} problem={problems.answers} onText={(allAnswers) => onChange({ allAnswers })} />
          ) : (
            <>
              {asks.map((node) => (
                <JsonField key={node} label={node} rows={2} text={draft.answers[node] ?? ""} problem={problems[`answers.${node}`]} onText={(text) => onChange({ answers: { ...draft.answers, [node]: text } })} />
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
