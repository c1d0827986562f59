import { By, Coded } from "../../parts/bits";
import { VirtualList } from "../../parts/virtual";
import { inShort, timeOf } from "../../parts/words";
import type { Records } from "./records";

/** Two lines of what happened, and one of who did it. */
const ROW = 64;

export function Timeline({ records, head, seq, names, onMove }: { records: Records; head: number; seq: number; names: Record<string, string>; onMove: (seq: number) => void }) {
  if (head === 0) return <p className="hint">Nothing happened yet.</p>;
  return (
    <VirtualList
      role="listbox"
      rowRole="option"
      label="Records"
      count={head}
      rowHeight={ROW}
      active={seq - 1}
      onActive={(index) => onMove(index + 1)}
      onRange={(first, last) => records.need(first + 1, last + 1)}
      row={(index) => {
        const record = records.at(index + 1);
        if (!record) return <div className="record blank">{index + 1}</div>;
        return (
          <div className={`record ${record.by.is}${/fail|error/i.test(record.kind) ? " bad" : ""}`} title={record.text}>
            <span className="record-seq">{record.seq}</span>
            <span className="record-text"><Coded text={inShort(record)} names={names} /></span>
            <span className="record-by">
              <time>{timeOf(record.at)}</time>
              <By by={record.by} />
            </span>
          </div>
        );
      }}
    />
  );
}
