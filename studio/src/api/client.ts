import { noteAnswer, noteRefused, noteUnreachable } from "./connection";
import { bearer } from "./token";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly help: string | null = null,
  ) {
    super(message);
  }
}

export const API = "./api/v1";

/** One path segment: ids may hold slashes. */
export const segment = encodeURIComponent;

interface Options {
  body?: unknown;
  signal?: AbortSignal;
}

export async function request<T>(path: string, { body, signal }: Options = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const token = bearer();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(API + path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    noteUnreachable();
    throw new ApiError(0, "offline", "The studio's server does not answer.", "Is `portolan studio` still running? This page connects again by itself.");
  }
  if (!response.ok) throw await readError(response);
  noteAnswer();
  return (await response.json()) as T;
}

async function readError(response: Response): Promise<ApiError> {
  if (response.status === 401) noteRefused();
  if (response.status === 503) noteUnreachable();
  try {
    const { error } = (await response.json()) as { error: { code: string; message: string; help: string | null } };
    return new ApiError(response.status, error.code, error.message, error.help ?? null);
  } catch {
    return new ApiError(response.status, "http", `The server answered with ${response.status}.`);
  }
}

export const get = <T>(path: string, signal?: AbortSignal) => request<T>(path, { signal });
export const post = <T>(path: string, body: unknown, signal?: AbortSignal) => request<T>(path, { body, signal });

export const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";
