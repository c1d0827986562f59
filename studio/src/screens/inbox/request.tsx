import { useId } from "react";
import type { TerminalRequest } from "../../api/types";
import { TerminalCommand } from "../../parts/command";
import { CardHead } from "./card-head";

/** A request that a person decides in a terminal: to bypass a rule, or to raise a budget. */
export function RequestCard({ request: r }: { request: TerminalRequest }) {
  const id = useId();
  return (
    <li className="question" aria-labelledby={`${id}-title`}>
      {r.is === "bypass" ? (
        <CardHead id={`${id}-title`} title={`Bypass ${r.rule}?`} since={r.since}>
          {r.by} asks for the task {r.task} in the phase {r.phase}
        </CardHead>
      ) : (
        <CardHead id={`${id}-title`} title={`The budget of ${r.unit} is used up`}>
          {r.used === null ? "unknown" : r.used.toLocaleString("en")} of {r.cap.toLocaleString("en")} in this {r.scope} ({r.window})
        </CardHead>
      )}
      {r.is === "bypass" ? (
        <>
          <blockquote className="words">{r.reason}</blockquote>
          <p>This command bypasses the rule in this phase, on record; put your reason into it. The request is gone once that is done, or the phase is left.</p>
        </>
      ) : (
        <p>Work has stopped. This command raises the budget until the end of its window, on record; put the new amount and your reason into it.</p>
      )}
      <TerminalCommand text={r.command} />
    </li>
  );
}
