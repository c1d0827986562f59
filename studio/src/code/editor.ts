import { defaultKeymap } from "@codemirror/commands";
import { json } from "@codemirror/lang-json";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, codeFolding, foldGutter, foldKeymap, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { setDiagnostics, lintGutter } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Annotation, EditorSelection, EditorState, StateEffect, StateField, type Text, type Transaction } from "@codemirror/state";
import { Decoration, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, type DecorationSet } from "@codemirror/view";
import type { Problem } from "../api/types";
import type { Splice } from "../text/splice";
import { highlight, look } from "./theme";

export interface Shown {
  text: string;
  language: "json" | "yaml";
  name: string;
  editable: boolean;
}

export interface CodePane {
  show(file: Shown): void;
  /** Takes over a change that was made elsewhere: the cursor and the window stay. */
  apply(splices: Splice[]): void;
  setProblems(problems: Problem[]): void;
  /** Marks a range and brings it into the window, without taking the focus. */
  reveal(from: number, to: number): void;
  destroy(): void;
}

const mark = StateEffect.define<{ from: number; to: number } | null>();
const marked = Decoration.line({ class: "cm-chosen" });
const fromElsewhere = Annotation.define<boolean>();

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

export interface Listeners {
  onCursor: (offset: number) => void;
  onChange: (splice: Splice) => void;
}

export function createPane(host: HTMLElement, { onCursor, onChange }: Listeners): CodePane {
  // In a shadow root the editor adopts style sheets; elsewhere it adds a <style>, which the policy forbids.
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });

  const stateOf = ({ text, language, name, editable }: Shown) =>
    EditorState.create({
      doc: text,
      extensions: [
        // Places count every character: a carriage return must not be lost on the way.
        EditorState.lineSeparator.of("\n"),
        EditorState.readOnly.of(!editable),
        EditorView.editable.of(editable),
        EditorView.contentAttributes.of({ tabindex: "0", "aria-label": `Source of ${name}`, ...(editable ? {} : { "aria-readonly": "true" }) }),
        lineNumbers(),
        foldGutter(),
        codeFolding(),
        lintGutter(),
        bracketMatching(),
        indentOnInput(),
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
          for (const transaction of update.transactions) {
            if (transaction.docChanged && !transaction.annotation(fromElsewhere)) onChange(spliceOf(transaction));
          }
          const byHand = update.transactions.some((t) => t.isUserEvent("select"));
          if (update.selectionSet && byHand) onCursor(update.state.selection.main.head);
        }),
      ],
    });

  const view = new EditorView({ state: stateOf({ text: "", language: "yaml", name: "", editable: false }), parent: root, root });
  const clamp = (offset: number) => Math.max(0, Math.min(offset, view.state.doc.length));
  // A problem of a whole step would underline all its lines; the first names it.
  const firstLine = (from: number, to: number) => Math.max(clamp(from), Math.min(clamp(to), view.state.doc.lineAt(clamp(from)).to));

  return {
    show: (file) => view.setState(stateOf(file)),
    apply(splices) {
      for (const { from, removed, inserted } of splices) {
        view.dispatch({ changes: { from, to: from + removed.length, insert: inserted }, annotations: fromElsewhere.of(true), filter: false });
      }
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

/** All changes of a transaction as one: from the first changed place to the last. */
function spliceOf(transaction: Transaction): Splice {
  let [from, to, fromNew, toNew] = [Infinity, 0, Infinity, 0];
  transaction.changes.iterChangedRanges((fromA, toA, fromB, toB) => {
    from = Math.min(from, fromA);
    to = Math.max(to, toA);
    fromNew = Math.min(fromNew, fromB);
    toNew = Math.max(toNew, toB);
  });
  const text = (doc: Text, a: number, b: number) => doc.sliceString(a, b, "\n");
  return { from, removed: text(transaction.startState.doc, from, to), inserted: text(transaction.newDoc, fromNew, toNew) };
}
