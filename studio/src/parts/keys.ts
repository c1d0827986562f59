import { useLayoutEffect, useRef } from "react";
import { go, link } from "../route";

export const KEYS: [string, [string, string][]][] = [
  [
    "Everywhere",
    [
      ["?", "show these keys"],
      ["/", "search"],
      ["g h", "go home"],
      ["g i", "go to the inbox"],
      ["g p", "go to the project"],
      ["Esc", "close; in a field, take back what was typed, then leave it"],
    ],
  ],
  [
    "Graph and outline",
    [
      ["↓ ↑", "along the first outgoing edge, and back"],
      ["← →", "to the steps beside it"],
      ["Enter", "open the details, or the form"],
      ["Space", "fold or open what has steps inside"],
      ["+ − 0", "zoom in, zoom out, show everything"],
    ],
  ],
  [
    "Editing a definition",
    [
      ["a", "add a step: behind the selected one, or into the selected edge"],
      ["c", "connect the selected step, or lead the selected edge elsewhere"],
      ["e", "select the edges from the selected step, one after another"],
      ["Ctrl+Space", "in an expression: the names that are in scope"],
      ["F2", "rename"],
      ["Shift+arrows", "move the selected step"],
      ["k", "change the kind"],
      ["w", "wrap in a loop, or in a fork"],
      ["m", "move a step of an activity"],
      ["Delete", "delete the step or the edge"],
      ["Ctrl+D", "duplicate"],
      ["Ctrl+C Ctrl+V", "copy, and paste also into another definition"],
      ["Ctrl+Z", "undo; with Shift, redo"],
      ["Ctrl+S", "save"],
    ],
  ],
  [
    "Run",
    [
      ["← →", "on the slider: one record back or on"],
      ["[ ]", "anywhere: one record back or on"],
      ["Home End", "on the slider: the first and the last record"],
      ["n", "go to now"],
      ["t", "new run with this input"],
      ["r", "run again from the selected step, with other data if wanted"],
      ["Shift+F10", "the menu of the selected step"],
    ],
  ],
  [
    "Trying out",
    [
      ["t", "in a definition: try it"],
      ["Ctrl+Enter", "in the form: begin"],
      ["b", "set a breakpoint at the selected step, or remove it"],
      ["c", "pause, or go on"],
      ["s", "step to the next node"],
      ["o", "step over what runs inside"],
      ["v", "while it is paused: change a value"],
    ],
  ],
];

/** How long a search waits for the screen that loads, in milliseconds. */
const LOADS = 2_000;

const GO: Record<string, () => string> = { h: link.home, i: () => link.inbox(), p: link.project };

/** Whether the event is for a field. The editor stands in a shadow root, which hides it from `event.target`. */
export function isTyping(event: Event): boolean {
  const target = event.composedPath()[0] ?? event.target;
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) && target.getAttribute("type") !== "range";
}

/** The keys of the whole page; a screen adds its own with `useKeys`. */
export function useGlobalKeys(onHelp: () => void): void {
  const leader = useRef(-Infinity);
  useKeys((event) => {
    if (event.key === "?") onHelp();
    else if (event.key === "/") {
      event.preventDefault();
      search(performance.now() + LOADS);
    } else if (event.key === "g") leader.current = event.timeStamp;
    else if (GO[event.key] && event.timeStamp - leader.current < 1_200) {
      // The screen that comes takes the focus, unless something of the page still has it.
      (document.activeElement as HTMLElement | null)?.blur();
      go((GO[event.key] as () => string)());
    }
  });
}

/** What still loads has its search soon; a screen without one has that of home. */
function search(until: number): void {
  const field = document.querySelector<HTMLElement>("[data-search]");
  if (field) field.focus();
  else if (!document.querySelector(".loading")) go(link.home());
  else if (performance.now() < until) requestAnimationFrame(() => search(until));
}

/** Out of a field: to the graph, where there is one, so that its keys go on from there. */
function leave(event: KeyboardEvent): void {
  if (document.querySelector("dialog[open]")) return;
  (event.target as HTMLElement).blur();
  focusGraph();
}

/** The focus where it is of use once what had it is gone. */
export const focusGraph = () => document.querySelector<HTMLElement>("[data-graph]")?.focus({ preventScroll: true });

/** Listens from the moment at which the screen is there: a key that is pressed at once would be lost. */
export function useKeys(onKey: (event: KeyboardEvent) => void): void {
  const latest = useRef(onKey);
  latest.current = onKey;
  useLayoutEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event)) {
        if (event.key === "Escape") leave(event);
        return;
      }
      // A dialog that still loads takes no keys yet, and they are not meant for the page.
      if (document.querySelector("dialog[open], [data-coming]")) return;
      latest.current(event);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
}
