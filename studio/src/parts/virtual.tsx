import { useCallback, useEffect, useId, useLayoutEffect, useRef, useState } from "react";

interface Props {
  role: "tree" | "listbox";
  rowRole: "treeitem" | "option";
  label: string;
  count: number;
  rowHeight: number;
  active: number;
  /** Whether the active row is the selected one, and not only where the keys go on from. */
  marked?: boolean;
  onActive: (index: number) => void;
  onKey?: (event: React.KeyboardEvent, index: number) => void;
  /** Called with the rows on screen, so that only those are loaded. */
  onRange?: (first: number, last: number) => void;
  row: (index: number) => React.ReactNode;
  rowProps?: (index: number) => Record<string, string | number | boolean | undefined>;
}

const SPARE = 6;

/** A list of any length: one tab stop, rows of one height, and only the visible ones in the document. */
export function VirtualList({ role, rowRole, label, count, rowHeight, active, marked = true, onActive, onKey, onRange, row, rowProps }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [range, setRange] = useState({ first: 0, last: 40 });

  const measure = useCallback(() => {
    const element = box.current;
    if (!element) return;
    const first = Math.max(0, Math.floor(element.scrollTop / rowHeight) - SPARE);
    const last = Math.min(count - 1, Math.ceil((element.scrollTop + element.clientHeight) / rowHeight) + SPARE);
    setRange((now) => (now.first === first && now.last === last ? now : { first, last }));
  }, [count, rowHeight]);

  useLayoutEffect(() => {
    measure();
    const element = box.current;
    if (!element) return;
    const watch = new ResizeObserver(measure);
    watch.observe(element);
    return () => watch.disconnect();
  }, [measure]);

  useEffect(() => onRange?.(range.first, range.last), [range, count]);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || active < 0) return;
    const top = active * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + rowHeight - element.clientHeight;
  }, [active, rowHeight, count]);

  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor((box.current?.clientHeight ?? rowHeight) / rowHeight) - 1);
    const moves: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active < 0 ? 0 : active - 1,
      Home: 0,
      End: count - 1,
      PageDown: active + page,
      PageUp: active - page,
    };
    const next = moves[event.key];
    if (next === undefined) return onKey?.(event, active);
    event.preventDefault();
    if (count > 0) onActive(Math.max(0, Math.min(count - 1, next)));
  };

  const rows: React.ReactNode[] = [];
  for (let i = range.first; i <= Math.min(range.last, count - 1); i++) {
    rows.push(
      <div
        key={i}
        id={`${id}-${i}`}
        role={rowRole}
        aria-selected={marked && i === active}
        className={`row${marked && i === active ? " active" : ""}`}
        style={{ transform: `translateY(${i * rowHeight}px)`, height: rowHeight }}
        aria-posinset={i + 1}
        aria-setsize={count}
        {...rowProps?.(i)}
        onClick={() => onActive(i)}
      >
        {row(i)}
      </div>,
    );
  }

  return (
    <div
      ref={box}
      className="virtual"
      role={count > 0 ? role : "group"}
      aria-label={label}
      aria-activedescendant={active >= range.first && active <= range.last ? `${id}-${active}` : undefined}
      tabIndex={0}
      onScroll={measure}
      onKeyDown={onKeyDown}
    >
      <div role="presentation" style={{ height: count * rowHeight }}>
        {rows}
      </div>
    </div>
  );
}
