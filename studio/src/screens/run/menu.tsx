import { useEffect, useLayoutEffect, useRef } from "react";
import { Icon, type IconName } from "../../parts/icons";
import { focusGraph } from "../../parts/keys";

export interface MenuItem {
  icon: IconName;
  label: string;
  keys: string;
  /** Why it cannot be done, if so. */
  hindered?: string | null;
  act: () => void;
}

interface Props {
  label: string;
  at: { x: number; y: number };
  items: MenuItem[];
  onClose: () => void;
}

/** What can be done at a node of a run, where the pointer or the node is. */
export function NodeMenu({ label, at, items, onClose }: Props) {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    const menu = list.current;
    if (!menu) return;
    // It stays in the window.
    menu.style.left = `${Math.max(4, Math.min(at.x, innerWidth - menu.offsetWidth - 8))}px`;
    menu.style.top = `${Math.max(4, Math.min(at.y, innerHeight - menu.offsetHeight - 8))}px`;
    menu.querySelector<HTMLElement>("button")?.focus();
  }, [at]);
  useEffect(() => {
    const outside = (event: PointerEvent) => !list.current?.contains(event.target as Node) && onClose();
    addEventListener("pointerdown", outside, true);
    addEventListener("resize", onClose);
    return () => {
      removeEventListener("pointerdown", outside, true);
      removeEventListener("resize", onClose);
    };
  }, []);
  const leave = () => {
    onClose();
    focusGraph();
  };
  const onKeyDown = (event: React.KeyboardEvent) => {
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const now = buttons.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1 + buttons.length, Home: 0, End: buttons.length - 1 }[event.key];
    if (next !== undefined) buttons[next % buttons.length]?.focus();
    else if (event.key === "Escape" || event.key === "Tab") leave();
    else if (event.key !== "Enter" && event.key !== " ") return event.stopPropagation();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <ul ref={list} className="menu" role="menu" aria-label={label} onKeyDown={onKeyDown} onContextMenu={(event) => event.preventDefault()}>
      {items.map(({ icon, label, keys, hindered, act }) => (
        <li key={label} role="none">
          <button
            type="button"
            role="menuitem"
            aria-disabled={Boolean(hindered)}
            title={hindered ?? undefined}
            onClick={() => {
              if (hindered) return;
              leave();
              act();
            }}
          >
            <Icon name={icon} />
            <span>{label}</span>
            {hindered ? <span className="dim">{hindered}</span> : <kbd>{keys}</kbd>}
          </button>
        </li>
      ))}
    </ul>
  );
}
