import { useEffect, useRef, useState } from "react";
import type { Problem } from "../../api/types";
import type { CodePane } from "../../code/editor";
import { loadEditor } from "../../code/later";
import type { Document } from "../../document/document";
import { Loading, Notice } from "../../parts/notice";
import { useSelected } from "../../parts/store";

export interface Jump {
  file: number;
  from: number;
  to: number;
}

interface Props {
  document: Document;
  writable: boolean;
  problems: Problem[];
  jump: Jump | null;
  /** What is selected in the graph, for the history. */
  selected: string | null;
  onCursor: (file: number, offset: number) => void;
}

/** The names without the folder that all of them are in. */
export function shortNames(names: string[]): string[] {
  const folders = names.map((name) => name.split("/").slice(0, -1));
  let common = 0;
  while (folders.every((parts) => parts[common] !== undefined && parts[common] === folders[0]?.[common])) common++;
  return names.map((name) => name.split("/").slice(common).join("/"));
}

/** The source of a definition. The editor is a chunk of its own, loaded when it is first shown. */
export function Source({ document, writable, problems, jump, selected, onCursor }: Props) {
  const [shown, setShown] = useState(jump?.file ?? 0);
  const [pane, setPane] = useState<CodePane | null>(null);
  const [failed, setFailed] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef({ onCursor, shown, selected, document });
  latest.current = { onCursor, shown, selected, document };
  const names = shortNames(document.names.map((file) => file.name));
  const marks = useSelected(document.state, ({ texts, base }) => texts.map((text, i) => (text === null ? "gone" : text === (base[i] ?? null) ? "" : "changed")).join());
  const files = marks.split(",").flatMap((mark, i) => (mark === "gone" ? [] : [{ name: names[i] ?? "", i, changed: mark === "changed" }]));
  const isGone = !files.some(({ i }) => i === shown);

  useEffect(() => {
    let ended = false;
    let made: CodePane | null = null;
    loadEditor()
      .then((createPane) => {
        if (ended || !host.current) return;
        const pane = createPane(host.current, {
          onCursor: (offset) => latest.current.onCursor(latest.current.shown, offset),
          onChange: (splice) => latest.current.document.type(latest.current.shown, splice, latest.current.selected, pane),
        });
        made = pane;
        setPane(pane);
      })
      .catch(() => setFailed(true));
    return () => {
      ended = true;
      made?.destroy();
    };
  }, []);

  useEffect(() => {
    const file = document.names[shown];
    if (!pane || !file) return;
    if (isGone) return setShown(0);
    pane.show({ ...file, text: document.state.get().texts[shown] ?? "", editable: writable });
    return document.onChange((splices, by) => {
      if (by !== pane) pane.apply(splices.filter((splice) => splice.file === shown));
    });
  }, [pane, document, shown, writable, isGone]);
  useEffect(() => {
    pane?.setProblems(problems.filter((problem) => problem.place?.file === shown));
  }, [pane, problems, shown, writable, document]);
  useEffect(() => {
    if (!jump) return;
    if (jump.file !== shown) setShown(jump.file);
    else pane?.reveal(jump.from, jump.to);
  }, [pane, jump, shown]);

  if (failed) {
    return (
      <Notice icon="offline" title="The source view could not be loaded">
        <p>Load the page again once the server answers.</p>
      </Notice>
    );
  }
  return (
    <div className="source">
      {files.length > 1 && (
        <div className="files" role="group" aria-label="Files">
          {files.map(({ name, i, changed }) => (
            <button key={name} type="button" aria-pressed={i === shown} onClick={() => setShown(i)}>
              {name}
              {changed && <span title="unsaved"> •<span className="unseen"> unsaved</span></span>}
            </button>
          ))}
        </div>
      )}
      {!pane && <Loading what="the source" />}
      <div className="code-host" ref={host} />
    </div>
  );
}
