import { useEffect, useRef, useState, type ReactNode } from "react";
import { post, toApiError, type ApiError } from "../../api/client";
import { loadPasskey } from "../../code/later";

interface Props<T> {
  /** What is answered: `challenge` and `answer` lie under it. */
  path: string;
  body: object;
  /** Whether a passkey has to confirm it. */
  byPasskey: boolean;
  label: string;
  /** What the button says where no passkey has to. */
  yes: string;
  /** What is told where it can no longer be answered. */
  moved: string;
  /** What is about to be answered. */
  children: ReactNode;
  onBack: () => void;
  onError: (error: ApiError | null) => void;
  onDone: (answer: T) => void;
  onMoved: (words: string) => void;
}

/** The last step before an answer counts. */
export function ConfirmStep<T>({ path, body, byPasskey, label, yes, moved, children, onBack, onError, onDone, onMoved }: Props<T>) {
  const [sending, setSending] = useState(false);
  const confirm = useRef<HTMLButtonElement>(null);
  const asking = useRef<AbortController | null>(null);

  /** Whether something is about to be answered: then it does not go away without a word. */
  const open = useRef(true);
  useEffect(() => {
    if (byPasskey) loadPasskey().catch(() => {});
    requestAnimationFrame(() => confirm.current?.focus());
    return () => {
      asking.current?.abort();
      if (open.current) onMoved(moved);
    };
  }, []);

  const back = () => {
    open.current = false;
    onBack();
  };

  const send = async () => {
    if (sending) return;
    setSending(true);
    onError(null);
    // What is sent is told by what comes of it.
    const sent = () => {
      open.current = false;
    };
    try {
      let answer: T;
      if (byPasskey) {
        asking.current = new AbortController();
        const confirmed = await loadPasskey();
        answer = await confirmed<T>(path, body, asking.current.signal, sent);
      } else {
        sent();
        answer = await post<T>(`${path}/answer`, body);
      }
      onDone(answer);
    } catch (failure) {
      const known = toApiError(failure);
      const gone = known.status === 409 || known.code === "unknown_token";
      onError(known);
      // What was to be confirmed is as it was, but where the question is another one.
      open.current = byPasskey && !gone;
      if (!open.current) onBack();
      else requestAnimationFrame(() => confirm.current?.focus());
      if (gone) onMoved(moved);
    } finally {
      asking.current = null;
      setSending(false);
    }
  };

  return (
    <div className="confirm" role="group" aria-label={label}>
      {children}
      <button type="button" className="button primary" ref={confirm} aria-disabled={sending} onClick={() => void send()}>
        {byPasskey ? (sending ? "Waiting for your passkey…" : "Confirm with a passkey") : sending ? "Sending…" : yes}
      </button>
      {sending && byPasskey ? (
        <button key="cancel" type="button" className="button" onClick={() => asking.current?.abort()}>
          Cancel
        </button>
      ) : (
        <button key="back" type="button" className="button" aria-disabled={sending} onClick={() => !sending && back()}>
          Back
        </button>
      )}
    </div>
  );
}
