import { useId, useRef, useState } from "react";
import { ApiError, post, segment } from "../../api/client";
import type { Question } from "../../api/types";
import { Age, CheckList } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { InlineFailure } from "../../parts/notice";
import { link } from "../../route";

const commandOf = ({ command }: Question, outcome: string) => `${command} ${outcome}`;

interface Props {
  question: Question;
  /** Why nothing can be answered here, if so. */
  blocked: string | null;
  onDone: () => void;
}

export function QuestionCard({ question: q, blocked, onDone }: Props) {
  const [outcome, setOutcome] = useState<string | null>(null);
  const [note, setNote] = useState("");
  const [confirming, setConfirming] = useState(false);
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const confirm = useRef<HTMLButtonElement>(null);
  const id = useId();
  const chosen = q.options.find((option) => option.outcome === outcome);
  const personOnly = error?.status === 403 || q.person;

  const review = (event: React.FormEvent) => {
    event.preventDefault();
    if (!chosen) return;
    setError(null);
    setConfirming(true);
    requestAnimationFrame(() => confirm.current?.focus());
  };

  const send = async () => {
    if (!chosen || sending) return;
    setSending(true);
    try {
      await post(`/runs/${segment(q.run)}/answer`, {
        revision: q.revision,
        ...(q.branch === null ? {} : { branch: q.branch }),
        outcome: chosen.outcome,
        ...(note.trim() ? { note: note.trim() } : {}),
      });
      onDone();
    } catch (failure) {
      const known = failure instanceof ApiError ? failure : new ApiError(0, "page", String(failure));
      setError(known);
      if (known.status === 409) onDone();
    } finally {
      setConfirming(false);
      setSending(false);
    }
  };

  return (
    <li className="question" aria-labelledby={`${id}-title`}>
      <header>
        <span className="octagon" aria-hidden="true">
          <Icon name="person" />
        </span>
        <div>
          <h2 id={`${id}-title`}>{q.stepName}</h2>
          <p className="dim">
            {q.workflow} asks
            {q.branch !== null && <> in branch {q.branch}</>} · <a href={link.run(q.run)}>{q.run}</a> · waits for <Age since={q.since} />
          </p>
        </div>
      </header>
      {q.wanted !== null && <p>{q.wanted}</p>}
      <pre className="words">{q.words}</pre>
      {q.failures.length > 0 && <CheckList title="What did not hold" checks={q.failures.map((failure) => ({ id: failure.check, held: false, reason: failure.reason, output: failure.output }))} />}
      {personOnly && (
        <div className="callout">
          <Icon name="person" />
          <p>Only a person's own word counts here, and a page is no person: an agent may have its token, too. Answer in your terminal.</p>
        </div>
      )}
      {personOnly || blocked !== null ? (
        <>
          {blocked !== null && <p className="hint">{blocked} Answer in your terminal.</p>}
          <ul className="options plain">
            {q.options.map((option) => (
              <li key={option.outcome}>
                <b>{option.title}</b> {option.meaning && <span className="dim">{option.meaning}</span>}
                <code className="command" tabIndex={0}>
                  {commandOf(q, option.outcome)}
                </code>
              </li>
            ))}
          </ul>
          {error && <InlineFailure error={error} />}
        </>
      ) : (
        <form onSubmit={review}>
          <fieldset disabled={confirming}>
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
          {confirming && chosen ? (
            <div className="confirm" role="group" aria-label="Confirm the answer">
              <p>
                Answer <b>{chosen.title}</b>? The run continues at once, and the answer stays on its record.
              </p>
              <button type="button" className="button primary" ref={confirm} disabled={sending} onClick={send}>
                {sending ? "Sending…" : "Yes, answer"}
              </button>
              <button type="button" className="button" onClick={() => setConfirming(false)}>
                Back
              </button>
            </div>
          ) : (
            <div className="actions">
              <button type="submit" className="button primary" disabled={!chosen}>
                Answer…
              </button>
            </div>
          )}
        </form>
      )}
    </li>
  );
}
