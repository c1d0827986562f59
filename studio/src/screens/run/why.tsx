import { useEffect } from "react";
import type { Run } from "../../api/types";
import { Coded } from "../../parts/coded";
import { Icon } from "../../parts/icons";
import { UntrustedNote } from "../../parts/untrusted";
import type { Records } from "./records";

interface Props {
  run: Run;
  records: Records;
  onMove: (seq: number) => void;
}

/** Why a run does not go on: what happened last, and what it lacks. Nothing while it goes on or has done what it was for. */
export function WhyItStands({ run, records, onMove }: Props) {
  const stands = run.status === "waiting" || (run.over && run.status !== "success");
  useEffect(() => {
    if (stands && run.head > 0) records.need(run.head, run.head);
  }, [stands, records, run.head]);
  const last = stands ? records.at(run.head) : undefined;
  const lacking = run.status === "success" ? null : (run.untrusted ?? null);
  if (!last && !lacking) return null;
  return (
    <section className="why" aria-label={run.over ? "Why it ended" : "Why it stands"}>
      {last && (
        <p>
          <Icon name={run.over ? "failed" : "person"} />
          <b>{run.over ? "It ended" : "It waits"}:</b> <Coded text={last.text} />{" "}
          <button type="button" className="link" onClick={() => onMove(run.head - 1)}>
            what was before
          </button>
        </p>
      )}
      {lacking && <UntrustedNote lacking={lacking} />}
    </section>
  );
}
