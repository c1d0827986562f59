import { Fragment, useEffect, useState } from "react";
import type { Author, NodeState, RunStatus } from "../api/types";
import { Icon } from "./icons";
import { age, authorIcon, authorWords, momentOf, stateIcon, stateWord, statusLook } from "./words";

/** A text in which what stands between backticks is code. */
export function Coded({ text, names }: { text: string; names?: Record<string, string> }) {
  const parts = text.split("`");
  // One that is never closed is a backtick.
  if (parts.length % 2 === 0) {
    const [before = "", rest = ""] = parts.splice(-2);
    parts.push(`${before}\`${rest}`);
  }
  return <>{parts.map((part, i) => (i % 2 === 1 ? <Code key={i} text={part} name={names?.[part]} /> : part))}</>;
}

/** A word of the definition; what people call it stands for it where that is known. */
const Code = ({ text, name }: { text: string; name: string | undefined }) => (name === undefined || name === text ? <code>{text}</code> : <b title={text}>{name}</b>);

/** A path that breaks after its slashes. */
export const Path = ({ text }: { text: string }) => <>{text.split(/(?<=\/)/).map((part, i) => <Fragment key={i}>{i > 0 && <wbr />}{part}</Fragment>)}</>;

export function Status({ status }: { status: RunStatus }) {
  const [icon, word, look] = statusLook(status);
  return (
    <span className={`chip tint ${look}`}>
      <Icon name={icon} size={14} />
      {word}
    </span>
  );
}

export function StateChip({ state }: { state: NodeState | null }) {
  if (!state) return <span className="dim">not reached</span>;
  return (
    <span className={`chip tint ${state}`}>
      <Icon name={stateIcon(state)} size={14} />
      {stateWord(state)}
    </span>
  );
}

export function By({ by }: { by: Author }) {
  return (
    <span className="by">
      <Icon name={authorIcon(by)} size={14} />
      {authorWords(by)}
    </span>
  );
}

/** An age that keeps counting, `now` or such as `3 min`; `words` makes more of it. */
export function Age({ since, words = (age) => age }: { since: string | number; words?: (age: string) => string }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  const at = typeof since === "number" ? since : Date.parse(since);
  if (!Number.isFinite(at)) return null;
  return (
    <time dateTime={new Date(at).toISOString()} title={momentOf(at)}>
      {words(age(at, now))}
    </time>
  );
}

/** A value as text; what is long starts folded. */
export function Value({ value, label }: { value: unknown; label: string }) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  if (text === undefined) return null;
  const long = text.length > 1_200 || text.split("\n").length > 24;
  const body = (
    <pre className="value" tabIndex={0} role="group" aria-label={label}>
      {text.length > 200_000 ? `${text.slice(0, 200_000)}\n… ${(text.length - 200_000).toLocaleString("en")} characters more` : text}
    </pre>
  );
  if (!long) return body;
  return (
    <details className="long">
      <summary>{text.length.toLocaleString("en")} characters</summary>
      {body}
    </details>
  );
}

/** Checks with their verdicts, and what they printed. */
export function CheckList({ title, checks }: { title: string; checks: { id: string; held: boolean; reason?: string; output?: string }[] }) {
  return (
    <section>
      <h3>{title}</h3>
      <ul className="check-list">
        {checks.map((check, i) => (
          <li key={i} className={`tint ${check.held ? "done" : "failed"}`}>
            <Icon name={check.held ? "done" : "failed"} size={14} />
            <div>
              <b>{check.id}</b> {check.held ? "holds" : "does not hold"}
              {check.reason && <p><Coded text={check.reason} /></p>}
              {check.output && <Value value={check.output} label={`Output of ${check.id}`} />}
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Tab {
  id: string;
  label: string;
  count?: number;
}

export function Tabs({ tabs, active, onChange, label, children }: { tabs: Tab[]; active: string; onChange: (id: string) => void; label: string; children?: React.ReactNode }) {
  const move = (event: React.KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.id === active);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    if (!next) return;
    onChange(next.id);
    const list = event.currentTarget;
    requestAnimationFrame(() => list.querySelector<HTMLElement>('[aria-selected="true"]')?.focus());
  };
  return (
    <div className="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move}>
        {tabs.map((tab) => (
          <button key={tab.id} type="button" role="tab" aria-selected={tab.id === active} tabIndex={tab.id === active ? 0 : -1} onClick={() => onChange(tab.id)}>
            {tab.label}
            {tab.count !== undefined && tab.count > 0 && <span className="count">{tab.count}</span>}
          </button>
        ))}
      </div>
      {children}
    </div>
  );
}
