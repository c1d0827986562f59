import { useId } from "react";
import type { TerminalRequest } from "../../api/types";
import { Age } from "../../parts/bits";
import { TerminalCommand } from "../../parts/command";
import { Icon } from "../../parts/icons";

/** A request that a person decides in a terminal: to bypass a rule, or to raise a budget. */
export function RequestCard({ request: r }: { request: TerminalRequest }) {
  const id = useId();
  return (
    <li className="question" aria-labelledby={`${id}-title`}>
      <header>
        <span className="octagon" aria-hidden="true">
          <Icon name="person" />
        </span>
        {r.is === "bypass" ? (
          <div>
            <h2 id={`${id}-title`}>Bypass {r.rule}?</h2>
            <p className="dim">
              {r.by} asks for the task {r.task} in the phase {r.phase} · <Age since={r.since} words={(age) => (age === "now" ? "asked just now" : `asked ${age} ago`)} />
            </p>
          </div>
        ) : (
          <div>
            <h2 id={`${id}-title`}>
              The budget of {r.unit} is used up
            </h2>
            <p className="dim">
              {r.used === null ? "unknown" : r.used.toLocaleString("en")} of {r.cap.toLocaleString("en")} in this {r.scope} ({r.window})
            </p>
          </div>
        )}
      </header>
      {r.is === "bypass" ? (
        <>
          <blockquote className="words">{r.reason}</blockquote>
          <p>This command bypasses the rule in this phase, on record. The request is gone once that is done, or the phase is left.</p>
        </>
      ) : (
        <p>Work has stopped. This command raises the budget until the end of its window, on record; put the new amount and your reason into it.</p>
      )}
      <TerminalCommand text={r.command} />
    </li>
  );
}
