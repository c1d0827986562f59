import { useId, useRef, useState } from "react";
import { segment, type ApiError } from "../../api/client";
import type { WaitingCall } from "../../api/types";
import { hindrance } from "../../passkey/where";
import { Coded } from "../../parts/bits";
import { TerminalCommand } from "../../parts/command";
import { InlineFailure } from "../../parts/notice";
import { CardHead } from "./card-head";
import { ConfirmStep } from "./confirm";
import { PersonOnly } from "./person";

interface Props {
  call: WaitingCall;
  /** Why nothing can be decided here, if so. */
  blocked: string | null;
  /** How many passkeys are enrolled. */
  passkeys: number;
  /** It was decided: what is told of that. */
  onDone: (words: string) => void;
  /** Somebody else decided it, or it is another call. */
  onMoved: (words: string) => void;
}

type Decision = keyof WaitingCall["commands"];

const DECISIONS: [Decision, title: string, meaning: string][] = [
  ["allow", "Allow once", "The same call with the same arguments passes once, when it is made again."],
  ["refuse", "Refuse", "The client is told so when it makes the call again."],
];

/** A call that waits for a person at the gate. */
export function CallCard({ call: c, blocked, passkeys, onDone, onMoved }: Props) {
  const [error, setError] = useState<ApiError | null>(null);
  const [decision, setDecision] = useState<Decision | null>(null);
  const actions = useRef<HTMLDivElement>(null);
  const id = useId();
  const why = c.passkey && blocked === null ? hindrance() : null;
  const inTerminal = blocked !== null || !c.passkey || why !== null;
  const chosen = DECISIONS.find(([word]) => word === decision);

  const back = () => {
    setDecision(null);
    requestAnimationFrame(() => actions.current?.querySelector<HTMLElement>(`[value="${decision}"]`)?.focus());
  };

  return (
    <li className="question" aria-labelledby={`${id}-title`}>
      <CardHead id={`${id}-title`} title={c.tool} since={c.since}>
        {c.client} wants to call this tool of {c.server}
      </CardHead>
      <p>
        <Coded text={c.reason} />
      </p>
      {c.arguments === null ? (
        <p className="hint">
          The arguments are too long to be shown here, so the call is not decided here either: <code>portolan gate waiting</code> shows them.
        </p>
      ) : (
        <pre className="words" tabIndex={0} role="group" aria-label={`Arguments of ${c.tool}`}>
          {c.arguments}
        </pre>
      )}
      <PersonOnly inTerminal={inTerminal} blocked={blocked} passkeys={passkeys} why={why} />
      {inTerminal && blocked !== null && <p className="hint">{blocked}</p>}
      {error && <InlineFailure error={error} />}
      {inTerminal ? (
        <Commands call={c} />
      ) : (
        <>
          {chosen ? (
            <ConfirmStep path={`/inbox/calls/${segment(c.token)}`} body={{ decision: chosen[0], digest: c.digest }} byPasskey label="Confirm the decision" yes={chosen[1]} moved={`The call of ${c.tool} was decided meanwhile, and your decision was not recorded.`} onBack={back} onError={setError} onDone={() => onDone(afterwards(c, chosen[0]))} onMoved={onMoved}>
              <Told call={c} title={chosen[1]} meaning={chosen[2]} />
            </ConfirmStep>
          ) : (
            <div className="actions" ref={actions}>
              {DECISIONS.map(([word, title]) => (
                <button key={word} type="button" className="button" value={word} onClick={() => (setError(null), setDecision(word))}>
                  {title}…
                </button>
              ))}
            </div>
          )}
          <details className="otherwise">
            <summary>In a terminal instead</summary>
            <Commands call={c} />
          </details>
        </>
      )}
    </li>
  );
}

/** What a passkey is about to confirm, word by word. */
const Told = ({ call: c, title, meaning }: { call: WaitingCall; title: string; meaning: string }) => (
  <div className="confirm-text">
    <p>Your passkey confirms exactly this, once. {meaning}</p>
    <dl className="confirmed">
      <dt>Decision</dt>
      <dd>
        <b>{title}</b>
      </dd>
      <dt>Tool</dt>
      <dd>
        {c.tool} of {c.server}
      </dd>
      <dt>Client</dt>
      <dd>{c.client}</dd>
      <dt>Arguments</dt>
      <dd>as they are shown above</dd>
    </dl>
  </div>
);

/** Each decision, and the command that gives it. */
const Commands = ({ call: c }: { call: WaitingCall }) => (
  <ul className="options plain">
    {DECISIONS.map(([word, title, meaning]) => (
      <li key={word}>
        <b>{title}</b> <span className="dim">{meaning}</span>
        <TerminalCommand text={c.commands[word]} />
      </li>
    ))}
  </ul>
);

const afterwards = ({ tool, client }: WaitingCall, decision: Decision) =>
  decision === "allow" ? `Allowed once: ${tool} passes when ${client} makes the same call again. If it has stopped, tell it to.` : `Refused: ${client} is told so when it calls ${tool} again.`;
