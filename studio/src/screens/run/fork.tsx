import { useId, useState } from "react";
import { ApiError, post, segment } from "../../api/client";
import type { Run } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { InlineFailure } from "../../parts/notice";
import { go, link } from "../../route";

interface Props {
  run: Run;
  seq: number;
  values: Record<string, unknown> | null;
  onClose: () => void;
}

export function ForkDialog({ run, seq, values, onClose }: Props) {
  const [text, setText] = useState("");
  const [definition, setDefinition] = useState("pinned");
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const id = useId();
  const parsed = parseVariables(text);
  const names = Object.keys(values ?? {});

  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    if ("problem" in parsed || sending) return;
    setSending(true);
    try {
      const made = await post<{ run: string }>(`/runs/${segment(run.run)}/fork`, {
        seq,
        ...(definition === "current" ? { definition } : {}),
        ...(parsed.set ? { set: parsed.set } : {}),
      });
      onClose();
      go(link.run(made.run));
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, "page", String(failure)));
      setSending(false);
    }
  };

  return (
    <Dialog title={`Fork from record ${seq}`} onClose={onClose}>
      <form onSubmit={submit}>
        <p>
          A new run begins with everything that happened up to record {seq} of <code>{run.run}</code>. The old run stays as it is.
        </p>
        <label className="field block">
          <span>Definition</span>
          <select value={definition} onChange={(event) => setDefinition(event.target.value)}>
            <option value="pinned">The one that this run began with</option>
            <option value="current">The one that is on disk now</option>
          </select>
        </label>
        <label className="field block">
          <span>Variables to change, as a JSON object (optional)</span>
          <textarea
            className="mono"
            rows={5}
            spellCheck={false}
            placeholder={names[0] ? `{ ${JSON.stringify(names[0])}: ${short(values?.[names[0]])} }` : "{ }"}
            value={text}
            aria-invalid={"problem" in parsed}
            aria-describedby={`${id}-problem`}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <p id={`${id}-problem`} className="field-problem" aria-live="polite">
          {"problem" in parsed ? parsed.problem : names.length > 0 ? `Variables here: ${names.slice(0, 12).join(", ")}${names.length > 12 ? ", …" : ""}` : ""}
        </p>
        {error && <InlineFailure error={error} />}
        <div className="actions end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={"problem" in parsed || sending}>
            {sending ? "Forking…" : "Fork"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

const short = (value: unknown) => (JSON.stringify(value) ?? "null").slice(0, 60);

export function parseVariables(text: string): { set: Record<string, unknown> | null } | { problem: string } {
  if (!text.trim()) return { set: null };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return { problem: "This has to be an object, such as { \"version\": \"1.2.0\" }." };
    return { set: value as Record<string, unknown> };
  } catch (error) {
    return { problem: `This is not JSON yet: ${(error as Error).message}` };
  }
}
