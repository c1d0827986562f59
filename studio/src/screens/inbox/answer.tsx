import { useEffect, useId, useRef, useState } from "react";
import { post, segment, toApiError, type ApiError } from "../../api/client";
import type { Question, Run } from "../../api/types";
import { loadPasskey } from "../../code/later";
import { InlineFailure } from "../../parts/notice";

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
  const [sending, setSending] = useState(false);
  const confirm = useRef<HTMLButtonElement>(null);
  const first = useRef<HTMLButtonElement>(null);
  const asking = useRef<AbortController | null>(null);
  const id = useId();
  const chosen = q.options.find((option) => option.outcome === outcome);

  /** Whether something is about to be answered: then it does not go away without a word. */
  const open = useRef(false);
  useEffect(
    () => () => {
      asking.current?.abort();
      if (open.current) onMoved(`${q.run} has moved on meanwhile, and your answer was not given.`);
    },
    [],
  );

  const review = (event: React.FormEvent) => {
    event.preventDefault();
    if (!chosen) return;
    onError(null);
    open.current = true;
    const said = note.trim();
    setGiven({
      title: chosen.title,
      body: { revision: q.revision, ...(q.branch === null ? {} : { branch: q.branch }), outcome: chosen.outcome, ...(said ? { note: said } : {}) },
    });
    if (byPasskey) loadPasskey().catch(() => {});
    requestAnimationFrame(() => confirm.current?.focus());
  };

  const back = () => {
    open.current = false;
    setGiven(null);
    requestAnimationFrame(() => first.current?.focus());
  };

  const send = async ({ title, body }: Given) => {
    if (sending) return;
    setSending(true);
    onError(null);
    // What is sent is told by what comes of it.
    const sent = () => {
      open.current = false;
    };
    const path = `/runs/${segment(q.run)}`;
    try {
      let run: Run;
      if (byPasskey) {
        asking.current = new AbortController();
        const confirmed = await loadPasskey();
        run = await confirmed(path, body, asking.current.signal, sent);
      } else {
        sent();
        run = await post<Run>(`${path}/answer`, body);
      }
      onDone([`Answer recorded: ${q.run} was answered: ${title.replace(/[.?!]$/, "")}.`, afterwards(q, run)].filter(Boolean).join(" "));
    } catch (failure) {
      const known = toApiError(failure);
      onError(known);
      // What was to be confirmed is as it was, but where the question is another one.
      open.current = byPasskey && known.status !== 409;
      if (!open.current) setGiven(null);
      if (known.status === 409) onMoved(`${q.run} has moved on meanwhile, and your answer was not given.`);
      requestAnimationFrame(() => (confirm.current ?? first.current)?.focus());
    } finally {
      asking.current = null;
      setSending(false);
    }
  };

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
        <div className="confirm" role="group" aria-label="Confirm the answer">
          {byPasskey ? (
            <Told question={q} given={given} meaning={chosen?.meaning ?? null} />
          ) : (
            <p>
              Answer <b>{given.title}</b>? {chosen?.meaning} The answer counts at once, and stays on the record of the run. {nextOf(q)}
            </p>
          )}
          <button type="button" className="button primary" ref={confirm} aria-disabled={sending} onClick={() => void send(given)}>
            {byPasskey ? (sending ? "Waiting for your passkey…" : "Confirm with a passkey") : sending ? "Sending…" : "Yes, answer"}
          </button>
          {sending && byPasskey ? (
            <button key="cancel" type="button" className="button" onClick={() => asking.current?.abort()}>
              Cancel
            </button>
          ) : (
            <button key="back" type="button" className="button" aria-disabled={sending} onClick={() => !sending && back()}>
              Back
            </button>
          )}
        </div>
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
