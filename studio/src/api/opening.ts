import { get, segment } from "./client";

/** What a run was given when it began. */
export interface Opening {
  run: string;
  input: Record<string, unknown> | null;
  description: string | null;
}

export async function openingOf(run: string, signal?: AbortSignal): Promise<Opening> {
  const record = await get<{ event?: { what?: { opened?: { input?: Record<string, unknown>; description?: string } } } }>(`/runs/${segment(run)}/records/1`, signal);
  const opened = record.event?.what?.opened;
  return { run, input: opened?.input ?? null, description: opened?.description ?? null };
}
