import { useState } from "react";
import { post, segment, toApiError, type ApiError } from "../../api/client";
import type { Run } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { InlineFailure } from "../../parts/notice";

interface Saved {
  file: string;
  text: string;
  created: boolean;
  /** Whether something in it is masked, since it must not be shown. */
  redacted?: boolean;
}

/** Keeps what happened as a test of the definition: the input, what was answered, and what came out. */
export function SaveTestDialog({ run, onClose }: { run: Run; onClose: () => void }) {
  const [name, setName] = useState("");
  const [saved, setSaved] = useState<Saved | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [sending, setSending] = useState(false);
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    if (!name.trim() || sending) return;
    setSending(true);
    setError(null);
    try {
      setSaved(await post<Saved>(`/runs/${segment(run.run)}/test`, { name: name.trim() }));
    } catch (failure) {
      setError(toApiError(failure));
    }
    setSending(false);
  };
  if (saved) {
    return (
      <Dialog key="saved" title="Saved as a test" onClose={onClose} wide>
        <p role="status" className="saved-line">
          <Icon name="done" />
          <span>
            <b>{name.trim()}</b> stands in <code>{saved.file}</code>, {saved.created ? "which is new" : "behind the tests that were there"}. <code>portolan test</code> runs it.
          </span>
        </p>
        {saved.redacted && (
          <p className="saved-line" role="status">
            <Icon name="warning" />
            <span>What is hidden stands in it as “[redacted]”: write something else there, or the test may not lead to this output.</span>
          </p>
        )}
        <pre className="value" tabIndex={0} role="group" aria-label={saved.file}>
          {saved.text}
        </pre>
        <div className="actions end">
          <button type="button" className="button primary" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog title="Save as a test" onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p>The input, the answers and the output of this run become a test beside the definition: it fails when they do not lead to this output any more.</p>
        <label className="field block">
          <span>What the test shows</span>
          <input type="text" autoComplete="off" value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        {error && <InlineFailure error={error} />}
        <div className="actions end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={!name.trim() || sending}>
            {sending ? "Saving…" : "Save"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
