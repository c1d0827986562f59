import { useEffect, useRef, useState } from "react";
import { Icon } from "./icons";

/** A command for a terminal, with a button that copies it. */
export function TerminalCommand({ text }: { text: string }) {
  const [copied, setCopied] = useState<"copied" | "selected" | null>(null);
  const code = useRef<HTMLElement>(null);
  useEffect(() => {
    if (copied === null) return;
    const timer = setTimeout(() => setCopied(null), 4_000);
    return () => clearTimeout(timer);
  }, [copied]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied("copied");
    } catch {
      // Where the clipboard is not allowed, the person's own keys copy what is selected.
      if (code.current) window.getSelection()?.selectAllChildren(code.current);
      setCopied("selected");
    }
  };
  return (
    <div className="copied-command">
      <code className="command" tabIndex={0} ref={code}>
        {text}
      </code>
      <button type="button" className="button small" onClick={() => void copy()}>
        <Icon name={copied === "copied" ? "done" : "copy"} />
        <span aria-live="polite">{copied === "copied" ? "Copied" : copied === "selected" ? "Selected: press Ctrl+C" : "Copy"}</span>
        <span className="unseen">: {text}</span>
      </button>
    </div>
  );
}
