import { useId, useLayoutEffect, useRef, useState } from "react";
import type { ApiError } from "../api/client";
import { Icon } from "./icons";
import { InlineFailure } from "./notice";

/** What is at hand when a dialog opens, the likeliest first. */
const FIRST = ["[data-first]", "[role=combobox]", "input:not([type=radio])", "textarea", "select", ".actions .primary:enabled"];

interface Props {
  title: string;
  onClose: () => void;
  children: React.ReactNode;
  wide?: boolean;
  /** Whether it holds what somebody has filled in: a click beside it does not throw that away. What is typed is seen anyway. */
  typed?: boolean;
}

/** The browser's own modal dialog: it keeps the focus, closes by Escape and gives the focus back. */
export function Dialog({ title, onClose, children, wide, typed }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const dirty = useRef(false);
  const beside = useRef(false);
  // A layout effect ends while the dialog is still in the page: only then does the browser give the focus back.
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    // The browser would choose the button that closes it.
    const first = FIRST.map((wanted) => element?.querySelector<HTMLElement>(wanted)).find((found) => found);
    first?.focus();
    return () => element?.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      className={wide ? "wide" : undefined}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onInput={() => {
        dirty.current = true;
      }}
      // A press that begins in a field and is let go outside of the dialog is no click beside it.
      onPointerDown={(event) => {
        beside.current = event.target === event.currentTarget;
      }}
      onClick={(event) => {
        if (event.target === event.currentTarget && beside.current && !dirty.current && !typed) onClose();
      }}
    >
      <div className="dialog-body">
        <header>
          <h2 id={heading}>{title}</h2>
          <button type="button" className="icon-button" aria-label="Close" onClick={onClose}>
            <Icon name="close" />
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

interface FormProps {
  title: string;
  /** What sending it does, as its button says. */
  action: string;
  /** Whether it can be sent. */
  ready?: boolean;
  /** Whether there is nothing to fill in: the button has the focus. */
  bare?: boolean;
  onSend: () => Promise<ApiError | null>;
  onClose: () => void;
  children: React.ReactNode;
}

/** A dialog that asks for something and does it once it is sent. A refusal is shown in it, and what was filled in stays. */
export function FormDialog({ title, action, ready = true, bare = false, onSend, onClose, children }: FormProps) {
  const [error, setError] = useState<ApiError | null>(null);
  const [sending, setSending] = useState(false);
  const send = async (event: React.FormEvent) => {
    event.preventDefault();
    if (!ready || sending) return;
    setSending(true);
    setError(await onSend());
    setSending(false);
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form data-sending={sending || undefined} onSubmit={(event) => void send(event)}>
        {children}
        {error && <InlineFailure error={error} />}
        <div className="actions end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={!ready} data-first={bare ? "" : undefined}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
