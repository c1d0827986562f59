import type { Problem, SourceFile } from "../../api/types";
import { Icon } from "../../parts/icons";

export function marksOf(problems: Problem[]): Record<string, "error" | "warning"> {
  const marks: Record<string, "error" | "warning"> = {};
  for (const { node, severity } of problems) {
    if (node !== null && marks[node] !== "error") marks[node] = severity;
  }
  return marks;
}

interface Props {
  problems: Problem[];
  files: SourceFile[];
  selected: string | null;
  onChoose: (problem: Problem) => void;
  onShow: () => void;
}

export function Problems({ problems, files, selected, onChoose, onShow }: Props) {
  if (problems.length === 0) {
    return (
      <p className="all-well">
        <Icon name="done" /> No problems: this definition can be run.
      </p>
    );
  }
  return (
    <ul className="problems">
      {problems.map((problem, i) => (
        <li key={i}>
          <button
            type="button"
            className={problem.node !== null && problem.node === selected ? "chosen" : ""}
            onClick={() => onChoose(problem)}
            onDoubleClick={() => {
              onChoose(problem);
              onShow();
            }}
          >
            <span className={`mark ${problem.severity}`}>
              <Icon name={problem.severity} />
              {problem.severity}
            </span>
            <span className="problem-text">
              <span>{problem.message}</span>
              {problem.help && <span className="dim">{problem.help}</span>}
            </span>
            <code>{problem.code}</code>
            {problem.place && (
              <span className="dim place">
                {files.length > 1 && `${files[problem.place.file]?.name ?? ""}:`}
                {problem.place.line}:{problem.place.column}
              </span>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}
