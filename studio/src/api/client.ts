import { noteAnswer, noteRefused, noteUnreachable } from "./connection";
import { bearer } from "./token";

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly help: string | null = null,
    /** The whole answer, for errors that carry more. */
    readonly answer: unknown = null,
  ) {
    super(message);
  }
}

export const API = "./api/v1";

/** One path segment: ids may hold slashes. */
export const segment = encodeURIComponent;

interface Options {
  method?: "GET" | "POST" | "PUT";
  body?: unknown;
  signal?: AbortSignal;
}

export async function request<T>(path: string, { body, method = body === undefined ? "GET" : "POST", signal }: Options = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const token = bearer();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(API + path, {
      method,
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
    const answer = (await response.json()) as { error: { code: string; message: string; help: string | null } };
    const { code, message, help } = answer.error;
    return new ApiError(response.status, code, message, help ?? null, answer);
  } catch {
    return new ApiError(response.status, "http", `The server answered with ${response.status}.`);
  }
}

export const get = <T>(path: string, signal?: AbortSignal) => request<T>(path, { signal });
export const post = <T>(path: string, body: unknown, signal?: AbortSignal) => request<T>(path, { body, signal });

export const put = <T>(path: string, body: unknown) => request<T>(path, { method: "PUT", body });

export const toApiError = (error: unknown) => (error instanceof ApiError ? error : new ApiError(0, "page", String(error)));

export const isAbort = (error: unknown) => error instanceof DOMException && error.name === "AbortError";
