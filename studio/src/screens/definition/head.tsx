import type { Definition } from "../../api/types";
import { Coded } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { plural } from "../../parts/words";
import { useStore } from "../../parts/store";
import { link, note } from "../../route";
import { drafts } from "./drafts";

interface Props {
  definition: Definition;
  /** What it is called, as it is written now. */
  title: string;
  root: string | null;
  /** Why it cannot be changed, or not in the graph. */
  limits: string | null;
  problems: number;
  errors: number;
  state: { canUndo: boolean; canRedo: boolean; unsaved: boolean };
  /** What was done last, if nothing else was since. */
  said: string;
  /** The address at which it is tried out, if it can be. */
  tryIt: string | null;
  /** Without it, nothing can be changed. */
  onUndo: (() => void) | null;
  onRedo: () => void;
  onAdd: (() => void) | null;
  onSave: () => void;
  onProblems: () => void;
}

export function DefinitionHead({ definition, title, root, limits, problems, errors, state, said, tryIt, onUndo, onRedo, onAdd, onSave, onProblems }: Props) {
  // What stands in a field is a part of what is saved.
  const unsaved = useStore(drafts).size > 0 || state.unsaved;
  return (
    <header className="work-head">
      <nav className="crumbs" aria-label="Place">
        <a href={link.home()}>Definitions</a>
        <Icon name="right" size={14} />
        <h1>{title}</h1>
      </nav>
      <span className="tag">{definition.dialect}</span>
      {definition.roots.length > 1 && (
        <label className="field inline">
          <span>Root</span>
          <select value={root ?? definition.roots[0]?.id} onChange={(event) => note(link.definition(definition.id, { root: event.target.value }))}>
            {definition.roots.map((entry) => (
              <option key={entry.id} value={entry.id}>
                {entry.name}
              </option>
            ))}
          </select>
        </label>
      )}
      <p className="work-text" title={limits ?? definition.description}>
        {limits === null ? definition.description : <Coded text={limits} />}
      </p>
      {problems > 0 && (
        <button type="button" className={`chip tint ${errors > 0 ? "failed" : "waiting"}`} onClick={onProblems}>
          <Icon name={errors > 0 ? "error" : "warning"} size={14} />
          {plural(problems, errors > 0 ? "problem" : "warning")}
        </button>
      )}
      <p className={`told${said ? "" : " nothing"}`} role="status" title={said}>
        {said && (
          <>
            <Icon name="done" size={14} />
            <span>{said}</span>
          </>
        )}
      </p>
      <div className="work-actions">
        {onUndo && (
          <>
            <button type="button" className="icon-button" aria-label="Undo" title="Undo (Ctrl+Z)" disabled={!state.canUndo} onClick={onUndo}>
              <Icon name="undo" />
            </button>
            <button type="button" className="icon-button" aria-label="Redo" title="Redo (Shift+Ctrl+Z)" disabled={!state.canRedo} onClick={onRedo}>
              <Icon name="redo" />
            </button>
          </>
        )}
        {onAdd && (
          <button type="button" className="button" title="Add a step (a)" onClick={onAdd}>
            <Icon name="plus" />
            Add
          </button>
        )}
        {tryIt && (
          <a className="button" href={tryIt} title={unsaved ? "Try what is saved, without your changes (t)" : "Try it (t)"}>
            <Icon name="play" />
            Try it
          </a>
        )}
        {onUndo && (
          <button type="button" className="button primary" title="Save (Ctrl+S)" disabled={!unsaved} onClick={onSave}>
            {unsaved ? "Save…" : "Saved"}
          </button>
        )}
      </div>
    </header>
  );
}
