import { useEffect, useId, useRef, useState } from "react";
import type { ApiError } from "../../api/client";
import type { Question, ReportNote } from "../../api/types";
import { hindrance } from "../../passkey/where";
import { Age, By, CheckList } from "../../parts/bits";
import { TerminalCommand } from "../../parts/command";
import { InlineFailure } from "../../parts/notice";
import { UntrustedNote } from "../../parts/untrusted";
import { link } from "../../route";
import { AnswerForm } from "./answer";
import { CardHead } from "./card-head";
import { Changes } from "./changes";
import { PersonOnly } from "./person";

/** How long an output is shown at once. */
const SHORT = 1_000;

interface Props {
  question: Question;
  /** Whether somebody came here for it. */
  wanted: boolean;
  /** Why nothing can be answered here, if so. */
  blocked: string | null;
  /** How many passkeys are enrolled. */
  passkeys: number;
  /** It was answered: what is told of that. */
  onDone: (words: string) => void;
  /** It is another question by now, or none. */
  onMoved: (words: string) => void;
}

export function QuestionCard({ question: q, wanted, blocked, passkeys, onDone, onMoved }: Props) {
  const [error, setError] = useState<ApiError | null>(null);
  const id = useId();
  const card = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (!wanted) return;
    card.current?.scrollIntoView({ block: "nearest" });
    card.current?.querySelector<HTMLElement>("input[type=radio], .command")?.focus();
  }, [wanted]);
  const personOnly = q.person || error?.code === "needs_person";
  const why = q.passkey && blocked === null ? hindrance() : null;
  const inTerminal = blocked !== null || (personOnly && (!q.passkey || why !== null));

  return (
    <li ref={card} className={wanted ? "question wanted" : "question"} aria-labelledby={`${id}-title`}>
      <CardHead id={`${id}-title`} title={q.stepName} since={q.since}>
        <span title={q.workflow}>{q.workflowName}</span> asks
        {q.branch !== null && <> in branch {q.branch}</>} · <a href={link.run(q.run)}>{q.run}</a>
      </CardHead>
      {q.wanted !== null && <p>{q.wanted}</p>}
      <pre className="words">{q.words}</pre>
      {q.failures.length > 0 && <CheckList title="What did not hold" checks={q.failures.map((failure) => ({ id: failure.check, held: false, reason: failure.reason, output: failure.output }))} />}
      {q.outputs?.map(({ step, stepName, text, cut }) => (
        <details key={step} open={text.length <= SHORT}>
          <summary>Output of {stepName}</summary>
          <pre className="words" tabIndex={0} role="group" aria-label={`Output of ${stepName}`}>
            {text}
            {cut && "…"}
          </pre>
        </details>
      ))}
      {q.notes !== undefined && q.notes.length > 0 && <Notes notes={q.notes} />}
      {q.untrusted && <UntrustedNote lacking={q.untrusted} />}
      <Changes question={q} />
      {personOnly && <PersonOnly inTerminal={inTerminal} blocked={blocked} passkeys={passkeys} why={why} />}
      {inTerminal ? (
        <>
          {blocked !== null && <p className="hint">{blocked}{!personOnly && " Answer in your terminal."}</p>}
          <Commands question={q} />
          {error && <InlineFailure error={error} />}
        </>
      ) : (
        <>
          <AnswerForm question={q} byPasskey={q.passkey} error={error} onError={setError} onDone={onDone} onMoved={onMoved} />
          {q.passkey && (
            <details className="otherwise">
              <summary>In a terminal instead</summary>
              <Commands question={q} />
            </details>
          )}
        </>
      )}
    </li>
  );
}

/** Each answer, and the command that gives it. */
const Commands = ({ question: q }: { question: Question }) => (
  <ul className="options plain">
    {q.options.map((option) => (
      <li key={option.outcome}>
        <b>{option.title}</b> {option.meaning && <span className="dim">{option.meaning}</span>}
        <TerminalCommand text={`${q.command} ${option.outcome}`} />
      </li>
    ))}
  </ul>
);

/** What was said with the last reports: the newest at once, and those before it when they are asked for. */
function Notes({ notes: [last, ...earlier] }: { notes: ReportNote[] }) {
  const id = useId();
  if (!last) return null;
  return (
    <section className="report-notes" aria-labelledby={id}>
      <h3 id={id}>The last note</h3>
      <ReportedNote note={last} />
      {earlier.length > 0 && (
        <details>
          <summary>{earlier.length === 1 ? "The note before it" : `${earlier.length} notes before it`}</summary>
          {earlier.map((note, i) => (
            <ReportedNote key={i} note={note} />
          ))}
        </details>
      )}
    </section>
  );
}

const ReportedNote = ({ note: { by, at, step, outcome, note } }: { note: ReportNote }) => (
  <div className="report-note">
    <p className="dim">
      <By by={by} /> reported {step} <span className="tag">{outcome}</span> <Age since={at} words={(age) => (age === "now" ? "just now" : `${age} ago`)} />
    </p>
    <blockquote>{note}</blockquote>
  </div>
);
