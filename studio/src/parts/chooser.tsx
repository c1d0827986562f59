import { useEffect, useId, useRef, useState } from "react";
import type { ApiError } from "../api/client";
import { Dialog } from "./dialog";
import { Icon, type IconName } from "./icons";
import { InlineFailure } from "./notice";

export interface Choice {
  id: string;
  label: string;
  detail?: string;
  icon?: IconName;
}

interface Props {
  title: string;
  /** What is chosen, above the field. */
  label: string;
  choices: Choice[];
  /** Above the list: what else is to be chosen. */
  children?: React.ReactNode;
  onChoose: (id: string) => Promise<ApiError | null>;
  onClose: () => void;
}

const MOST = 60;

/** Chooses one of many by typing a part of its name. A refusal is told here, and the list stays. */
export function Chooser({ title, label, choices, children, onChoose, onClose }: Props) {
  const [words, setWords] = useState("");
  const [at, setAt] = useState(0);
  const [error, setError] = useState<ApiError | null>(null);
  const id = useId();
  const list = useRef<HTMLUListElement>(null);
  const found = search(choices, words).slice(0, MOST);
  const active = Math.min(at, found.length - 1);

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [active, words]);

  const choose = async (choice: Choice | undefined) => {
    if (!choice) return;
    const refused = await onChoose(choice.id);
    if (refused) setError(refused);
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) setAt((active + step + found.length) % Math.max(1, found.length));
    else if (event.key === "Enter") void choose(found[active]);
    else return;
    event.preventDefault();
  };

  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <div className="field block">
        <label htmlFor={`${id}-words`}>{label}</label>
        <input
          id={`${id}-words`}
          type="text"
          role="combobox"
          placeholder="Type a part of it, or use the arrow keys"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={found[active] ? `${id}-${active}` : undefined}
          autoComplete="off"
          spellCheck={false}
          autoFocus
          value={words}
          onChange={(event) => {
            setWords(event.target.value);
            setAt(0);
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      {error && <InlineFailure error={error} />}
      {found.length === 0 && <p className="hint">Nothing is called that.</p>}
      <ul id={id} ref={list} className="choices" role="listbox" aria-label={title}>
        {found.map((choice, i) => (
          <li key={choice.id} id={`${id}-${i}`} role="option" aria-selected={i === active} onClick={() => void choose(choice)}>
            {choice.icon && <Icon name={choice.icon} />}
            <span className="choice-label">{choice.label}</span>
            {choice.detail && <span className="dim">{choice.detail}</span>}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

/** What is called exactly so comes first, then names that begin with the words, then those that hold them. */
export function search(choices: Choice[], words: string): Choice[] {
  const wanted = words.trim().toLowerCase();
  if (!wanted) return choices;
  const begins = (text: string) => text.toLowerCase().startsWith(wanted);
  const holds = choices.filter(({ id, label, detail }) => `${label} ${id} ${detail ?? ""}`.toLowerCase().includes(wanted));
  const is = (text: string) => text.toLowerCase() === wanted;
  const rank = ({ id, label }: Choice) => (is(label) || is(id) ? 0 : begins(label) || begins(id) ? 1 : `${label} ${id}`.toLowerCase().includes(wanted) ? 2 : 3);
  return holds.sort((a, b) => rank(a) - rank(b));
}
