import { Icon } from "../parts/icons";
import type { Graph } from "./model";

/** Which marks a drawing has. */
function marksIn({ drawing: { nodes, edges } }: Graph) {
  return {
    isChecked: nodes.some((node) => node.verification === "checked"),
    isBelieved: nodes.some((node) => node.verification === "believed"),
    retries: nodes.some((node) => (node.budget ?? 0) > 0),
    implied: edges.some((edge) => edge.implied),
  };
}

/** Whether there is anything to explain: the legend has a line of its own below the drawing, where it covers no step. */
export const hasLegend = (graph: Graph) => Object.values(marksIn(graph)).some(Boolean);

/** What the marks of the drawing mean, of those that it has. In a narrow pane only its title is there until it is opened. */
export function Legend({ graph }: { graph: Graph }) {
  const { isChecked, isBelieved, retries, implied } = marksIn(graph);
  return (
    <details className="marks-legend">
      <summary title="What the marks mean">
        <span className="in-narrow">Legend</span>
        <span className="in-wide">
          {isChecked && (
            <>
              <Icon name="checks" size={14} /> checked
            </>
          )}
          {isBelieved && (
            <>
              <Icon name="believed" size={14} /> not checked
            </>
          )}
          {!isChecked && !isBelieved && "Legend"}
        </span>
        <span className="unseen">: what the marks mean</span>
      </summary>
      <dl>
        {isChecked && (
          <div>
            <dt>
              <Icon name="checks" size={14} /> checked
            </dt>
            <dd>Portolan runs checks before the run leaves the step. It leaves only if they pass.</dd>
          </div>
        )}
        {isBelieved && (
          <div>
            <dt>
              <Icon name="believed" size={14} /> not checked
            </dt>
            <dd>Whoever does the work is believed: what they report counts, and no check runs.</dd>
          </div>
        )}
        {retries && (
          <div>
            <dt>
              <span className="budget">
                <i className="used" />
                <i />
              </span>{" "}
              retries
            </dt>
            <dd>One dot for each time that the step may be tried again; a filled dot is used.</dd>
          </div>
        )}
        {implied && (
          <div>
            <dt>
              <svg width="18" height="8" aria-hidden="true">
                <path d="M1 4H17" />
              </svg>{" "}
              implied
            </dt>
            <dd>An edge that the text does not name: it follows from the order or the kind of the steps.</dd>
          </div>
        )}
      </dl>
    </details>
  );
}
