import { useEffect, useId, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { isAbort, toApiError } from "../../api/client";
import { Icon } from "../../parts/icons";
import { useStore } from "../../parts/store";
import { complete, completed, type Completion } from "./complete";
import { evaluate, overOf, withOf, type Evaluated, type Evaluation } from "./over";
import { useRunsOf } from "./source";

interface Props {
  evaluation: Evaluation;
  node: string | null;
  path: string;
  /** The field that is written in. */
  field: React.RefObject<HTMLTextAreaElement | null>;
  text: string;
  onText: (text: string) => void;
}

/** How long one may type on before a text is evaluated. */
const PAUSE = 120;

/** What an expression comes to while it is being written, and the names that it may go on with. */
export function ExpressionAid({ evaluation, node, path, field, text, onText }: Props) {
  const over = useStore(overOf(evaluation.id));
  const last = useRunsOf(evaluation)[0]?.run ?? null;
  const [told, setTold] = useState<{ text: string; result: Evaluated } | { refused: string } | null>(null);
  const values = withOf(over, last);
  const said = JSON.stringify(values);

  useEffect(() => {
    if (values === null) return;
    const abort = new AbortController();
    const timer = setTimeout(() => {
      evaluate(evaluation, node, path, text, values, abort.signal)
        .then((result) => setTold({ text, result }))
        .catch((failure: unknown) => {
          if (!abort.signal.aborted && !isAbort(failure)) setTold({ refused: toApiError(failure).message });
        });
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [evaluation.id, evaluation.root, node, path, text, said]);

  const result = told && "result" in told ? told.result : null;
  return (
    <div className="expression-aid">
      <Names field={field} text={text} names={result?.names ?? []} onText={onText} />
      <p className="evaluated" role="status">
        {values === null ? "The values are not JSON yet." : told === null || text.trim() === "" ? "" : "refused" in told ? told.refused : <Outcome text={told.text} result={told.result} />}
      </p>
    </div>
  );
}

const LONGEST = 400;

function Outcome({ text, result: { value, type, error } }: { text: string; result: Evaluated }) {
  if (error) {
    const bad = text.slice(error.from, error.to);
    return (
      <span className="evaluated-error">
        <Icon name="error" size={14} />
        <span>
          {error.message}
          {error.help && <span className="failure-help">{error.help}</span>}
          <code className="place">
            {text.slice(Math.max(0, error.from - 24), error.from)}
            <mark>{bad || "⌃"}</mark>
            {text.slice(error.to, error.to + 24)}
          </code>
        </span>
      </span>
    );
  }
  const shown = value === undefined ? null : JSON.stringify(value);
  return (
    <>
      <span className="tag">{type ?? "nothing"}</span> {shown !== null && <code>{shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown}</code>}
    </>
  );
}

/** The names that go on with what was begun. The field keeps the focus; arrows choose, Tab or Enter takes one over. */
function Names({ field, text, names, onText }: { field: Props["field"]; text: string; names: string[]; onText: (text: string) => void }) {
  const [found, setFound] = useState<Completion | null>(null);
  const [at, setAt] = useState(0);
  const typed = useRef(false);
  const id = useId();
  const active = Math.min(at, (found?.choices.length ?? 1) - 1);

  const look = () => {
    const element = field.current;
    setFound(element && document.activeElement === element && typed.current ? complete(element.value, element.selectionStart, names) : null);
    setAt(0);
  };
  useEffect(look, [text, names.join(" ")]);

  const take = (name: string | undefined) => {
    const element = field.current;
    if (!element || !found || name === undefined) return;
    const next = completed(element.value, found, name);
    typed.current = false;
    // At once: what is typed right after it would stand before the cursor, or behind it.
    flushSync(() => {
      onText(next.text);
      setFound(null);
    });
    element.setSelectionRange(next.cursor, next.cursor);
  };
  const keys = useRef<(event: KeyboardEvent) => void>(() => undefined);
  keys.current = (event) => {
    const move = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (event.key === " " && event.ctrlKey) {
      typed.current = true;
      look();
    } else if (!found) return;
    else if (move !== 0) setAt((active + move + found.choices.length) % found.choices.length);
    else if ((event.key === "Tab" && !event.shiftKey) || (event.key === "Enter" && !event.ctrlKey && !event.isComposing)) take(found.choices[active]);
    else if (event.key === "Escape") setFound(null);
    else return;
    // The form has meanings of its own for these keys.
    event.preventDefault();
    event.stopPropagation();
  };
  useEffect(() => {
    const element = field.current;
    if (!element) return;
    const onKey = (event: KeyboardEvent) => keys.current(event);
    const onInput = () => (typed.current = true);
    const onBlur = () => {
      typed.current = false;
      setFound(null);
    };
    element.setAttribute("aria-autocomplete", "list");
    element.addEventListener("keydown", onKey);
    element.addEventListener("input", onInput);
    element.addEventListener("blur", onBlur);
    return () => {
      element.removeEventListener("keydown", onKey);
      element.removeEventListener("input", onInput);
      element.removeEventListener("blur", onBlur);
    };
  }, [field]);
  useEffect(() => {
    const element = field.current;
    if (!element) return;
    if (found) {
      element.setAttribute("aria-controls", id);
      element.setAttribute("aria-activedescendant", `${id}-${active}`);
    } else {
      element.removeAttribute("aria-controls");
      element.removeAttribute("aria-activedescendant");
    }
  }, [found, active, field, id]);

  if (!found) return null;
  return (
    <ul id={id} className="choices name-choices" role="listbox" aria-label="Names">
      {found.choices.map((name, i) => (
        <li
          key={name}
          id={`${id}-${i}`}
          role="option"
          aria-selected={i === active}
          onPointerDown={(event) => {
            // The field keeps the focus.
            event.preventDefault();
            take(name);
          }}
        >
          <code>{name}</code>
        </li>
      ))}
    </ul>
  );
}
