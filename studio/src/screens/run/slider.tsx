import { useEffect, useMemo } from "react";
import type { Run } from "../../api/types";
import { Icon } from "../../parts/icons";
import { momentOf } from "../../parts/words";
import type { Records } from "./records";

interface Props {
  run: Run;
  seq: number;
  following: boolean;
  records: Records;
  onMove: (seq: number) => void;
  onNow: () => void;
}

/** A browser's own range: arrow keys, Home and End are there, and screen readers know it. */
export function Slider({ run, seq, following, records, onMove, onNow }: Props) {
  const record = records.at(seq);
  const words = record ? `Record ${seq} of ${run.head}: ${record.text}` : `Record ${seq} of ${run.head}`;
  useEffect(() => {
    if (run.head <= 2_000) records.need(1, run.head);
  }, [records, run.head]);
  const marks = useMarks(records, run.head);

  return (
    <div className="slider">
      <button type="button" className="icon-button" aria-label="One record back" title="One record back ([)" disabled={seq <= 1} onClick={() => onMove(seq - 1)}>
        <Icon name="left" />
      </button>
      <button type="button" className="icon-button" aria-label="One record on" title="One record on (])" disabled={seq >= run.head} onClick={() => onMove(seq + 1)}>
        <Icon name="right" />
      </button>
      <div className="track">
        <svg className="ticks" viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true">
          {marks.map(([x, look]) => (
            <path key={`${x} ${look}`} className={look} d={`M${x} 1V9`} vectorEffect="non-scaling-stroke" />
          ))}
        </svg>
        <input type="range" min={1} max={Math.max(1, run.head)} step={1} value={seq} aria-label="Record" aria-valuetext={words} onChange={(event) => onMove(Number(event.target.value))} />
      </div>
      <span className="slider-place">
        <b>{seq.toLocaleString("en")}</b> of {run.head.toLocaleString("en")}
        {record && <time dateTime={new Date(record.at).toISOString()}>{momentOf(record.at)}</time>}
      </span>
      {following ? (
        <span className={`chip tint ${run.over ? "done" : "here"}`} role="status" title={run.over ? "The run has ended, and this is its last record" : "This is the last record so far. The page follows the run."}>
          <Icon name={run.over ? "flag" : "live"} size={14} />
          {run.over ? "last record" : "now, live"}
        </span>
      ) : (
        <button type="button" className="button primary small" onClick={onNow} title="n">
          <Icon name="live" />
          Go to now
        </button>
      )}
    </div>
  );
}

/** Where persons acted and where something failed, at the resolution of the track. */
function useMarks(records: Records, head: number): [number, string][] {
  const version = records.version();
  return useMemo(() => {
    const seen = new Set<string>();
    const marks: [number, string][] = [];
    for (const { seq, by, kind } of records.loaded()) {
      const look = by.is === "person" ? "person" : /fail|error/i.test(kind) ? "failed" : null;
      if (!look) continue;
      const x = Math.round(((seq - 1) / Math.max(1, head - 1)) * 500) * 2;
      const key = `${x} ${look}`;
      if (seen.has(key)) continue;
      seen.add(key);
      marks.push([x, look]);
    }
    return marks;
  }, [version, head]);
}
