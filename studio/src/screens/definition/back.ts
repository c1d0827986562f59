import type { Kind } from "../../api/types";
import type { Placement } from "./places";

/** What comes with a gate between two steps besides itself. */
export function wayBack(kind: Kind | undefined, { work }: Placement): string | null {
  const retries = kind?.kind === "gate" ? kind.fields.find(({ path }) => path === "maxRetries")?.default : undefined;
  return work === undefined || typeof retries !== "number" ? null : `A failure leads back to “${work}”, at most ${retries} times; both can be changed afterwards.`;
}
