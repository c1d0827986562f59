import { useMemo, useState } from "react";
import type { ApiError } from "../../api/client";
import type { Problem } from "../../api/types";
import type { Document } from "../../document/document";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { InlineFailure } from "../../parts/notice";
import { plural } from "../../parts/words";
import type { DiffLine } from "../../text/diff";
import { countChanges, hunksOf } from "../../text/hunks";
import { changedWithin, type Marked } from "../../text/within";
import { drafts } from "./drafts";
import { ProblemList } from "./problems";

/** Of more, the others are in the list of problems. */
const MOST_PROBLEMS = 5;

interface Props {
  document: Document;
  problems: Problem[];
  /** Those that the file on disk has. */
  before: Problem[];
  onSave: () => Promise<ApiError | null>;
  onClose: () => void;
}

/** Shows what is about to be written, and writes it. */
export function SaveDialog({ document, problems, before, onSave, onClose }: Props) {
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const { texts, base } = document.state.get();
  const errors = problems.filter(({ severity }) => severity === "error").length;
  const fresh = problems.filter((problem) => !before.some(({ code, message }) => code === problem.code && message === problem.message));
  const left = [...drafts.get().values()];
  const doubtful = errors > 0 || left.length > 0;
  const save = async () => {
    if (saving) return;
    setSaving(true);
    setError(await onSave());
    setSaving(false);
  };
  return (
    <Dialog title="Save these changes?" onClose={onClose} wide>
      <div className="differences">
        {document.names.map(({ name }, i) => {
          const [before = null, after = null] = [base[i], texts[i]];
          return before === after ? null : <Difference key={name} name={name} before={before} after={after} />;
        })}
      </div>
      {errors > 0 && (
        <p className="inline-failure">
          <Icon name="error" />
          <span>
            It has {plural(errors, "error")}
            {fresh.some(({ severity }) => severity === "error") ? "" : ", none of them new"}: saved like this, it cannot be run.
          </span>
        </p>
      )}
      {fresh.length > 0 && (
        <>
          <p>With these changes it has {plural(fresh.length, "more problem")}:</p>
          <ProblemList problems={fresh.slice(0, MOST_PROBLEMS)} />
        </>
      )}
      {left.map(({ label, problem }) => (
        <p key={label} className="inline-failure">
          <Icon name="error" />
          <span>
            What stands in “{label}” is not saved. {problem}
          </span>
        </p>
      ))}
      {error && <InlineFailure error={error} />}
      <div className="actions end">
        <button type="button" className="button" autoFocus={doubtful} onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button primary" autoFocus={!doubtful} disabled={saving} onClick={() => void save()}>
          {saving ? "Saving…" : errors > 0 ? "Save with errors" : "Save"}
        </button>
      </div>
    </Dialog>
  );
}

/** Of a file that comes or goes all lines are shown. */
function Difference({ name, before, after }: { name: string; before: string | null; after: string | null }) {
  const hunks = useMemo(() => hunksOf(before ?? "", after ?? ""), [before, after]);
  const { gone, come } = countChanges(hunks);
  return (
    <section>
      <h3>
        <code>{name}</code> {before === null && <strong>new file</strong>}
        {after === null && <strong>file removed</strong>} <span className="dim">{plural(come, "line")} added, {plural(gone, "line")} removed</span>
      </h3>
      <div className="diff-lines" tabIndex={0} role="group" aria-label={`Changes of ${name}`}>
        {hunks.map((hunk) => (
          <div key={hunk.left} className="hunk">
            <div className="hunk-head">line {hunk.left}</div>
            <Lines lines={hunk.lines} />
          </div>
        ))}
      </div>
    </section>
  );
}

function Lines({ lines }: { lines: DiffLine[] }) {
  const marked = changedWithin(lines);
  return lines.map((line, i) => (
    <div key={i} className={line.is}>
      <span className="sign">{line.is === "left" ? "−" : line.is === "right" ? "+" : " "}</span>
      <span>
        <MarkedText text={line.text} marked={marked.get(i)} />
      </span>
    </div>
  ));
}

function MarkedText({ text, marked }: { text: string; marked: Marked | undefined }) {
  if (!marked) return text;
  const [from, to] = marked;
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, to)}</mark>
      {text.slice(to)}
    </>
  );
}
