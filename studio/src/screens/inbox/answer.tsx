import { useId, useRef, useState } from "react";
import { segment, type ApiError } from "../../api/client";
import type { Question, Run } from "../../api/types";
import { InlineFailure } from "../../parts/notice";
import { ConfirmStep } from "./confirm";

/** An answer as it is about to be given: of the question as it was read. */
interface Given {
  title: string;
  body: { revision: number; branch?: string; outcome: string; note?: string };
}

interface Props {
  question: Question;
  /** Whether a passkey has to confirm it. */
  byPasskey: boolean;
  error: ApiError | null;
  onError: (error: ApiError | null) => void;
  onDone: (words: string) => void;
  /** It is another question by now, or none. */
  onMoved: (words: string) => void;
}

export function AnswerForm({ question: q, byPasskey, error, onError, onDone, onMoved }: Props) {
  const [outcome, setOutcome] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const [given, setGiven] = useState<Given | null>(null);
  const first = useRef<HTMLButtonElement>(null);
  const id = useId();
  const chosen = q.options.find((option) => option.outcome === outcome);

  const review = (event: React.FormEvent) => {
    event.preventDefault();
    if (!chosen) return;
    onError(null);
    const said = note.trim();
    setGiven({
      title: chosen.title,
      body: { revision: q.revision, ...(q.branch === null ? {} : { branch: q.branch }), outcome: chosen.outcome, ...(said ? { note: said } : {}) },
    });
  };

  const back = () => {
    setGiven(null);
    requestAnimationFrame(() => first.current?.focus());
  };

  const done = (title: string, run: Run) => onDone([`Answer recorded: ${q.run} was answered: ${title.replace(/[.?!]$/, "")}.`, afterwards(q, run)].filter(Boolean).join(" "));

  return (
    <form onSubmit={review}>
      <fieldset disabled={given !== null}>
        <legend className="unseen">Answer</legend>
        <div className="options">
          {q.options.map((option) => (
            <label key={option.outcome} className="option">
              <input type="radio" name={id} value={option.outcome} checked={outcome === option.outcome} onChange={() => setOutcome(option.outcome)} />
              <span>
                <b>{option.title}</b>
                {option.title !== option.outcome && <code>{option.outcome}</code>}
                {option.meaning && <span className="dim">{option.meaning}</span>}
              </span>
            </label>
          ))}
        </div>
        <label className="field block">
          <span>Note for the agent (optional)</span>
          <textarea rows={2} value={note} onChange={(event) => setNote(event.target.value)} />
        </label>
      </fieldset>
      {error && <InlineFailure error={error} />}
      {given ? (
        <ConfirmStep<Run> path={`/runs/${segment(q.run)}`} body={given.body} byPasskey={byPasskey} label="Confirm the answer" yes="Yes, answer" moved={`${q.run} has moved on meanwhile, and your answer was not given.`} onBack={back} onError={onError} onDone={(run) => done(given.title, run)} onMoved={onMoved}>
          {byPasskey ? (
            <Told question={q} given={given} meaning={chosen?.meaning ?? null} />
          ) : (
            <p>
              Answer <b>{given.title}</b>? {chosen?.meaning} The answer counts at once, and stays on the record of the run. {nextOf(q)}
            </p>
          )}
        </ConfirmStep>
      ) : (
        <div className="actions">
          <button type="submit" className="button primary" ref={first} disabled={!chosen}>
            Answer…
          </button>
        </div>
      )}
    </form>
  );
}

/** What a passkey is about to confirm, word by word. */
const Told = ({ question: q, given: { title, body }, meaning }: { question: Question; given: Given; meaning: string | null }) => (
  <div className="confirm-text">
    <p>Your passkey confirms exactly this, once. {meaning} The answer counts at once, and stays on the record of the run. {nextOf(q)}</p>
    <dl className="confirmed">
      <dt>Run</dt>
      <dd>
        {q.run}, {q.workflow}
      </dd>
      <dt>Step</dt>
      <dd>
        {q.stepName} <code>{q.step}</code>
        {q.branch !== null && <> in branch {q.branch}</>}
      </dd>
      <dt>Answer</dt>
      <dd>
        <b>{title}</b> {title !== body.outcome && <code>{body.outcome}</code>}
      </dd>
      <dt>Note</dt>
      <dd>{body.note ?? <span className="dim">none</span>}</dd>
    </dl>
  </div>
);

/** What has to happen after an answer so that the work continues. */
const nextOf = ({ led }: Question) => (led ? "The agent learns of it with its next call." : "");

function afterwards({ run, led }: Question, { over, status }: Run): string {
  if (over) return "The run has ended.";
  if (status === "waiting") return "The run has another question.";
  return led ? `The agent continues with its next call. If it has stopped, tell it to continue the run ${run}.` : "";
}
