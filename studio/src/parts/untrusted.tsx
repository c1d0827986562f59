import type { Untrusted } from "../api/types";
import { Coded } from "./bits";
import { Icon } from "./icons";

/** Why no check of a step can hold: its commands are not trusted. `step` names the one that is looked at. */
export function UntrustedNote({ lacking, step }: { lacking: Untrusted; step?: string }) {
  const runs = step === undefined ? lacking.runs : lacking.runs.filter((run) => run.node === step);
  if (runs.length === 0) return null;
  return (
    <div className="callout" role="note">
      <Icon name="lock" />
      <div>
        <p>
          {step === undefined ? "Steps of this workflow are" : "This step is"} left only after commands that nobody has trusted. They are not run, and so{" "}
          {step === undefined ? "these steps" : "it"} cannot pass:
        </p>
        <ul>
          {runs.map((run, i) => (
            <li key={i}>
              {step === undefined && (
                <>
                  <b>{run.node}</b>{" "}
                </>
              )}
              <code>{run.argv.join(" ")}</code>
            </li>
          ))}
        </ul>
        <p>
          A person reads them, and then: <Coded text={lacking.help} />. No agent can do that.
        </p>
      </div>
    </div>
  );
}
