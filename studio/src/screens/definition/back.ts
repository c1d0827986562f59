import type { Kind } from "../../api/types";
import type { Placement } from "./places";

/** What comes with a new step in this place besides itself: where it leads back. */
export function wayBack(kind: Kind | undefined, { work, within }: Placement): string | null {
  if (kind?.kind === "checkpoint" && within !== undefined) return `The answer “No” has “${within.name}” done again, “Yes” goes on; the answers can be changed afterwards.`;
  const retries = kind?.kind === "gate" ? kind.fields.find(({ path }) => path === "maxRetries")?.default : undefined;
  return work === undefined || typeof retries !== "number" ? null : `A failure leads back to “${work}”, at most ${retries} times; both can be changed afterwards.`;
}
