import { useState } from "react";
import { get, segment } from "../../api/client";
import { useResource } from "../../api/resource";
import type { ChangedFile, Question, Since } from "../../api/types";
import { Age } from "../../parts/bits";
import { InlineFailure } from "../../parts/notice";
import { plural } from "../../parts/words";

/** What has changed in the repository since the step began. It is looked for when somebody opens it. */
export function Changes({ question }: { question: Question }) {
  const [open, setOpen] = useState(false);
  return (
    <details className="otherwise" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What changed since the step began</summary>
      {open && <Looked question={question} />}
    </details>
  );
}

function Looked({ question: q }: { question: Question }) {
  const branch = q.branch === null ? "" : `?branch=${encodeURIComponent(q.branch)}`;
  const { data, error } = useResource<{ since: Since | null }>(`changes ${q.run} ${q.revision} ${branch}`, (signal) => get(`/runs/${segment(q.run)}/changes${branch}`, signal));
  if (error) return <InlineFailure error={error} />;
  if (!data) return <p className="dim">Looking…</p>;
  if (!data.since) return <p>Nothing is on record of how the files stood when the step began.</p>;
  const { since } = data;
  return (
    <>
      <p className="dim">
        {since.files.length === 0 ? "No file has changed" : plural(since.files.length, "file")} since <code>{since.step}</code> began, <Age since={new Date(since.at).toISOString()} /> ago, at commit <code>{since.commit.slice(0, 12)}</code>.
        {since.cut && " There is more than is shown: look with `git diff`."}
      </p>
      <ul className="plain changed-files">
        {since.files.map((file) => (
          <Changed key={file.path} file={file} />
        ))}
      </ul>
    </>
  );
}

const Changed = ({ file }: { file: ChangedFile }) => (
  <li>
    <p>
      <code>{file.path}</code> <span className="dim">{[file.how, file.note].filter(Boolean).join(": ")}</span>
    </p>
    {file.diff && (
      <pre className="words" tabIndex={0} role="group" aria-label={`Changes of ${file.path}`}>
        {file.diff}
      </pre>
    )}
  </li>
);
