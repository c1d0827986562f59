import { useEffect, useRef, useState } from "react";
import type { CodePane } from "../../code/code";
import type { Place, Problem, SourceFile } from "../../api/types";
import { Loading, Notice } from "../../parts/notice";

interface Props {
  files: SourceFile[];
  problems: Problem[];
  jump: Place | null;
  onCursor: (file: number, offset: number) => void;
}

/** The names without the folder that all of them are in. */
export function shortNames(files: SourceFile[]): string[] {
  const folders = files.map((file) => file.name.split("/").slice(0, -1));
  let common = 0;
  while (folders.every((parts) => parts[common] !== undefined && parts[common] === folders[0]?.[common])) common++;
  return files.map((file) => file.name.split("/").slice(common).join("/"));
}

/** The source of a definition. The editor is a chunk of its own, loaded when it is first shown. */
export function Source({ files, problems, jump, onCursor }: Props) {
  const [shown, setShown] = useState(jump?.file ?? 0);
  const [pane, setPane] = useState<CodePane | null>(null);
  const [failed, setFailed] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const latest = useRef({ onCursor, shown });
  latest.current = { onCursor, shown };
  const file = files[shown] ?? files[0];
  const names = shortNames(files);

  useEffect(() => {
    let ended = false;
    let made: CodePane | null = null;
    import("../../code/code")
      .then(({ createPane }) => {
        if (ended || !host.current) return;
        made = createPane(host.current, (offset) => latest.current.onCursor(latest.current.shown, offset));
        setPane(made);
      })
      .catch(() => setFailed(true));
    return () => {
      ended = true;
      made?.destroy();
    };
  }, []);

  useEffect(() => {
    if (pane && file) pane.show(file.text, file.language, file.name);
  }, [pane, file]);
  useEffect(() => {
    pane?.setProblems(problems.filter((problem) => problem.place?.file === shown));
  }, [pane, problems, file, shown]);
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
          {files.map((entry, i) => (
            <button key={entry.name} type="button" aria-pressed={i === shown} onClick={() => setShown(i)}>
              {names[i]}
            </button>
          ))}
        </div>
      )}
      {!pane && <Loading what="the source" />}
      <div className="code-host" ref={host} />
    </div>
  );
}
