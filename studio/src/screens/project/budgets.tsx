import { useId } from "react";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import { Icon, type IconName } from "../../parts/icons";
import { Failure, Loading } from "../../parts/notice";

interface Budget {
  scope: string;
  unit: string;
  used: number | null;
  cap: number;
  window: string;
  state: "open" | "nearly" | "used_up";
}

const STATES: Record<Budget["state"], [IconName, string, string]> = { open: ["done", "done", "open"], nearly: ["warning", "waiting", "nearly used up"], used_up: ["failed", "failed", "used up"] };

/** The budgets of the project, and how far each is used up. */
export function BudgetsSection() {
  const { data, error, reload } = useResource<{ task: string | null; budgets: Budget[] }>("budgets", (signal) => get("/project/budgets", signal));
  const id = useId();
  return (
    <section className="list-section" aria-labelledby={id}>
      <h2 id={id}>Budgets</h2>
      {!data ? (
        error ? <Failure error={error} retry={reload} /> : <Loading what="the budgets" />
      ) : data.budgets.length === 0 ? (
        <p className="hint">
          No budget is open: <code>.portolan/plugins.yaml</code> sets them, by task, session, day and month.
        </p>
      ) : (
        <div className="entries verdict">
          <table className="budgets">
            <thead>
              <tr>
                {["Over", "Of", "Used", "Left", "State"].map((head) => (
                  <th key={head} scope="col">
                    {head}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.budgets.map((budget) => {
                const [icon, look, words] = STATES[budget.state];
                return (
                  <tr key={`${budget.scope} ${budget.unit}`}>
                    <th scope="row">
                      {budget.scope} <span className="dim">{budget.window}</span>
                    </th>
                    <td>{budget.unit}</td>
                    <td>{budget.used === null ? `unknown of ${budget.cap.toLocaleString("en")}` : `${budget.used.toLocaleString("en")} of ${budget.cap.toLocaleString("en")}`}</td>
                    <td>{budget.used === null ? "unknown" : Math.max(0, budget.cap - budget.used).toLocaleString("en")}</td>
                    <td>
                      <span className={`chip tint ${look}`}>
                        <Icon name={icon} size={14} />
                        {words}
                      </span>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
          <p className="dim">
            A person raises one in a terminal: <code>portolan supervisor budget raise</code>.
          </p>
        </div>
      )}
    </section>
  );
}
