import { defaultKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, codeFolding, foldGutter, foldKeymap, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics, lintGutter } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorSelection, EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import type { Problem } from "../api/types";
import { highlight, look } from "./theme";

export interface CodePane {
  show(text: string, language: "json" | "yaml", name: string): void;
  setProblems(problems: Problem[]): void;
  /** Marks a range and brings it into the window, without taking the focus. */
  reveal(from: number, to: number): void;
  destroy(): void;
}

const mark = StateEffect.define<{ from: number; to: number } | null>();
const marked = Decoration.line({ class: "cm-chosen" });

const chosen = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(decorations, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(mark)) continue;
      if (!effect.value) return Decoration.none;
      const { doc } = transaction.state;
      const lines = [];
      const last = doc.lineAt(effect.value.to).number;
      for (let n = doc.lineAt(effect.value.from).number; n <= last; n++) lines.push(marked.range(doc.line(n).from));
      return Decoration.set(lines);
    }
    return decorations.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

export function createPane(host: HTMLElement, onCursor: (offset: number) => void): CodePane {
  // In a shadow root the editor adopts style sheets; elsewhere it adds a <style>, which the policy forbids.
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  let name = "";

  const stateOf = (text: string, language: "json" | "yaml") =>
    EditorState.create({
      doc: text,
      extensions: [
        EditorState.readOnly.of(true),
        EditorView.editable.of(false),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": `Source of ${name}`, "aria-readonly": "true" }),
        lineNumbers(),
        foldGutter(),
        codeFolding(),
        lintGutter(),
        bracketMatching(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSelectionMatches(),
        search({ top: true }),
        keymap.of([...searchKeymap, ...foldKeymap, ...defaultKeymap]),
        language === "json" ? json() : yaml(),
        syntaxHighlighting(highlight),
        look,
        chosen,
        EditorView.updateListener.of((update) => {
          const byHand = update.transactions.some((t) => t.isUserEvent("select"));
          if (update.selectionSet && byHand) onCursor(update.state.selection.main.head);
        }),
      ],
    });

  const view = new EditorView({ state: stateOf("", "yaml"), parent: root, root });
  const clamp = (offset: number) => Math.max(0, Math.min(offset, view.state.doc.length));
  // A problem of a whole step would underline all its lines; the first names it.
  const firstLine = (from: number, to: number) => Math.max(clamp(from), Math.min(clamp(to), view.state.doc.lineAt(clamp(from)).to));

  return {
    show(text, language, file) {
      name = file;
      view.setState(stateOf(text, language));
    },
    setProblems(problems) {
      const found = problems.flatMap(({ place, severity, message, help, code }) =>
        place
          ? [{ from: clamp(place.from), to: firstLine(place.from, place.to), severity, message: help ? `${message}\n${help}` : message, source: code }]
          : [],
      );
      view.dispatch(setDiagnostics(view.state, found));
    },
    reveal(from, to) {
      const range = { from: clamp(from), to: clamp(to) };
      view.dispatch({ selection: EditorSelection.cursor(range.from), effects: mark.of(range) });
      // The editor's own scrolling moves the page, too, when the panes stand below each other.
      view.requestMeasure({
        read: () => view.lineBlockAt(range.from).top - view.scrollDOM.clientHeight / 3,
        write: (top) => {
          view.scrollDOM.scrollTop = top;
        },
      });
    },
    destroy: () => view.destroy(),
  };
}
