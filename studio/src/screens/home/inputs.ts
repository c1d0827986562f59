import { openingOf } from "../../api/opening";
import { useResource } from "../../api/resource";

/** By run; what a run began with never changes. */
const known = new Map<string, string>();
const NONE: Record<string, string> = {};

/** The inputs of runs in short. The list of runs does not have them. */
export function useInputs(runs: string[]): Record<string, string> {
  const load = async (signal: AbortSignal) => {
    await Promise.all(runs.filter((run) => !known.has(run)).map(async (run) => known.set(run, await inputOf(run, signal))));
    return Object.fromEntries(known);
  };
  return useResource(runs.length > 0 ? `inputs ${runs.join(" ")}` : null, load, true).data ?? NONE;
}

/** One whose first record cannot be read is listed without its input. */
const inputOf = (run: string, signal: AbortSignal) =>
  openingOf(run, signal).then(
    ({ input }) => inShort(input),
    () => "",
  );

const LONGEST = 160;

/** An input in a line: `a: 2, who: Ada`. */
export function inShort(input: Record<string, unknown> | null): string {
  const words = Object.entries(input ?? {}).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  const text = words.join(", ").replace(/\s+/g, " ");
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
}
