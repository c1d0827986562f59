import { useLayoutEffect, useRef } from "react";
import { isTyping } from "../../parts/keys";

interface Commands {
  /** Without these, nothing can be changed. */
  save: (() => void) | null;
  undo: (() => void) | null;
  redo: () => void;
  duplicate: (() => void) | null;
  /** What is to be copied, if anything. */
  copy: () => string | null;
  /** Whether the text was something to paste. */
  paste: (text: string) => boolean;
}

/** The keys with Ctrl, and the clipboard, which browsers have meanings of their own for. */
export function useCommands(commands: Commands): void {
  const latest = useRef(commands);
  latest.current = commands;
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
      const { save, undo, redo, duplicate } = latest.current;
      const key = event.key.toLowerCase();
      // A dialog that does what it was sent for closes in a moment, and saving waits for that.
      const asks = document.querySelector("dialog[open]");
      if (asks && !(key === "s" && asks.querySelector("[data-sending]"))) return;
      const field = event.composedPath()[0];
      if (key === "s") {
        // What stands in a field is a part of what is saved.
        if (field instanceof HTMLElement && field.closest("[data-form]")) {
          field.blur();
          field.focus({ preventScroll: true });
        }
        save?.();
      } else if (key === "z" || key === "y") {
        if (!undo || hasOwnUndo(field)) return;
        if (key === "y" || event.shiftKey) redo();
        else undo();
      } else if (key === "d" && duplicate && !isTyping(event)) duplicate();
      else return;
      event.preventDefault();
    };
    const onClip = (event: ClipboardEvent) => {
      if (isTyping(event) || document.querySelector("dialog[open]") || !(window.getSelection()?.isCollapsed ?? true)) return;
      if (event.type === "copy") {
        const text = latest.current.copy();
        if (text === null) return;
        event.clipboardData?.setData("text/plain", text);
      } else if (!latest.current.paste(event.clipboardData?.getData("text/plain") ?? "")) return;
      event.preventDefault();
    };
    addEventListener("keydown", onKey);
    addEventListener("copy", onClip);
    addEventListener("paste", onClip);
    return () => {
      removeEventListener("keydown", onKey);
      removeEventListener("copy", onClip);
      removeEventListener("paste", onClip);
    };
  }, []);
}

/** A field that holds something of its own, unsent or searched for, takes back that first. */
function hasOwnUndo(field: EventTarget | undefined): boolean {
  if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) return false;
  return field.closest("[data-form]") ? field.hasAttribute("data-draft") : field.value !== "";
}
