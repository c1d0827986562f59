import { useEffect } from "react";
import { Store } from "../../parts/store";

/** What somebody has typed into a field and has not left yet, or cannot be taken over: by the field, with why not. */
export interface Draft {
  label: string;
  problem: string | null;
}

export const drafts = new Store<ReadonlyMap<string, Draft>>(new Map());

/** Tells of a field for as long as its text is another one than what is written. */
export function useDraft(id: string, label: string, isOther: boolean, problem: string | null): void {
  useEffect(() => {
    if (!isOther) return;
    drafts.update((now) => new Map(now).set(id, { label, problem }));
    return () =>
      drafts.update((now) => {
        const left = new Map(now);
        left.delete(id);
        return left;
      });
  }, [id, label, isOther, problem]);
}
