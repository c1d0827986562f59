import { useEffect } from "react";
import type { RecordLine, Run } from "../../api/types";
import { Coded } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { UntrustedNote } from "../../parts/untrusted";
import type { Records } from "./records";

interface Props {
  run: Run;
  records: Records;
  onMove: (seq: number) => void;
  /** What steps are called, by their ids. */
  names: Record<string, string>;
}

/** Why a run does not go on: what happened last, and what it lacks. Nothing while it goes on or has done what it was for. */
export function WhyItStands({ run, records, onMove, names }: Props) {
  const stands = run.status === "waiting" || (run.over && run.status !== "success");
  useEffect(() => {
    if (stands && run.head > 0) records.need(Math.max(1, run.head - AT_MOST), run.head);
  }, [stands, records, run.head]);
  const last = stands ? lastMove(records, run.head) : [];
  const lacking = run.status === "success" ? null : (run.untrusted ?? null);
  if (last.length === 0 && !lacking) return null;
  return (
    <section className="why" aria-label={run.over ? "Why it ended" : "Why it stands"}>
      {last.length > 0 && (
        <p>
          <Icon name={run.over ? "failed" : "person"} />
          <b>{run.over ? "It ended" : "It waits"}:</b> {last.map((record, i) => (
            <span key={record.seq}>
              {i > 0 && "; "}
              <Coded text={record.text} names={names} />
            </span>
          ))}
          <button type="button" className="link" onClick={() => onMove(run.head - last.length)}>
            what was before
          </button>
        </p>
      )}
      {lacking && <UntrustedNote lacking={lacking} />}
    </section>
  );
}

/** The most records of the engine that are looked through for what they followed from. */
const AT_MOST = 4;

/** The last thing that somebody did, with what the engine did because of it. */
function lastMove(records: Records, head: number): RecordLine[] {
  const found: RecordLine[] = [];
  for (let seq = head; seq > Math.max(0, head - AT_MOST); seq -= 1) {
    const record = records.at(seq);
    if (!record) return found;
    found.unshift(record);
    if (record.by.is !== "engine") return found;
  }
  return found.slice(-1);
}
