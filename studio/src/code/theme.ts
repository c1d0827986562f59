import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The page's own variables reach into the shadow root, so light and dark need no second theme. */
export const look = EditorView.theme({
  "&": { height: "100%", fontSize: "12.5px", backgroundColor: "var(--panel)", color: "var(--text)" },
  "&.cm-focused": { outline: "2px solid var(--focus)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { padding: "6px 0" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--dim)", border: "none" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--hover)", color: "var(--text)" },
  ".cm-chosen": { backgroundColor: "var(--chosen)" },
  ".cm-selectionBackground, &.cm-focused .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-selectionMatch": { backgroundColor: "var(--selection)" },
  ".cm-matchingBracket": { outline: "1px solid var(--line-strong)", backgroundColor: "transparent" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", border: "1px solid var(--line)", color: "var(--dim)" },
  ".cm-panels": { backgroundColor: "var(--ground)", color: "var(--text)", borderBottom: "1px solid var(--line)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", border: "1px solid var(--line)", borderRadius: "6px" },
  ".cm-diagnostic": { fontFamily: "var(--sans)", whiteSpace: "pre-wrap" },
  ".cm-textfield": { backgroundColor: "var(--panel)", border: "1px solid var(--line-strong)", color: "var(--text)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--panel)", border: "1px solid var(--line-strong)", color: "var(--text)" },
});

export const highlight = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-name)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.atom], color: "var(--code-value)" },
  { tag: [tags.comment, tags.meta], color: "var(--dim)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--dim)" },
]);
