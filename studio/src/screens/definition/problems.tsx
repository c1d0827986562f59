import type { Problem } from "../../api/types";
import { Coded } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import type { Fault } from "./fault";

export function marksOf(problems: Problem[]): Record<string, "error" | "warning"> {
  const marks: Record<string, "error" | "warning"> = {};
  for (const { node, severity } of problems) {
    if (node !== null && marks[node] !== "error") marks[node] = severity;
  }
  return marks;
}

interface Props {
  problems: Problem[];
  /** Whether there may be more problems. */
  undecided: boolean;
  files: { name: string }[];
  selected: string | null;
  faultOf: (problem: Problem) => Fault;
  onChoose: (problem: Problem) => void;
}

export function Problems({ problems, undecided, files, selected, faultOf, onChoose }: Props) {
  if (problems.length === 0) {
    return (
      <p className="all-well">
        <Icon name="done" /> {undecided ? "No problems found so far" : "No problems"}: this definition can be run.
        {undecided && " Its runs are too many to look at all of them while you write: `portolan check` takes more time."}
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
          >
            <span className={`mark ${problem.severity}`}>
              <Icon name={problem.severity} />
              {problem.severity}
            </span>
            <span className="problem-text">
              <FaultLine fault={faultOf(problem)} />
              <span>
                <Coded text={problem.message} />
              </span>
              {problem.help && (
                <span className="dim">
                  <Coded text={problem.help} />
                </span>
              )}
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

/** The step by its title and its id, the field by its label and its key. */
function FaultLine({ fault: { step, field } }: { fault: Fault }) {
  if (!step && !field) return null;
  return (
    <b className="fault-line">
      {step && (
        <>
          {step.name} {step.name !== step.id && <code>{step.id}</code>}
        </>
      )}
      {step && field && ": "}
      {field && (
        <>
          {field.label} <code>{field.path}</code>
        </>
      )}
    </b>
  );
}

/** Problems with what to do about them. */
export function ProblemList({ problems }: { problems: Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul className="own-problems">
      {problems.map((problem, i) => (
        <li key={i}>
          <span className={`mark ${problem.severity}`}>
            <Icon name={problem.severity} size={14} />
            <span className="unseen">{problem.severity}</span>
          </span>
          <span>
            <Coded text={problem.message} />
            {problem.help && ": "}
            {problem.help && (
              <span className="dim">
                <Coded text={problem.help} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}
