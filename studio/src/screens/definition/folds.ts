import { useCallback, useState } from "react";
import type { DrawnNode } from "../../api/types";

export interface Folds {
  folded: string[];
  opened: string[];
}

/**
 * What was folded and opened against the server's own choice. The server lays out again for each
 * change, so only the difference is sent.
 */
export function useFolds() {
  const [folds, setFolds] = useState<Folds>({ folded: [], opened: [] });
  const toggle = useCallback((node: DrawnNode) => setFolds((now) => toggled(now, node)), []);
  return { folds, toggle, changed: folds.folded.length + folds.opened.length > 0 };
}

export function toggled({ folded, opened }: Folds, node: Pick<DrawnNode, "id" | "container">): Folds {
  const without = (list: string[]) => list.filter((id) => id !== node.id);
  if (node.container === "open") {
    return opened.includes(node.id) ? { folded, opened: without(opened) } : { folded: [...folded, node.id], opened };
  }
  if (node.container === "folded") {
    return folded.includes(node.id) ? { folded: without(folded), opened } : { folded, opened: [...opened, node.id] };
  }
  return { folded, opened };
}
