import { useCallback, useEffect, useRef, useState } from "react";
import { useStore } from "../parts/store";
import { ApiError, isAbort } from "./client";
import { connection } from "./connection";

export interface Resource<T> {
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  reload: () => void;
}

const cache = new Map<string, unknown>();
const CACHED = 60;

function remember(key: string, value: unknown): void {
  cache.delete(key);
  cache.set(key, value);
  const oldest = cache.keys().next();
  if (cache.size > CACHED && !oldest.done) cache.delete(oldest.value);
}

/**
 * Loads what `key` names. The last answer for the key is shown at once while a newer one is loaded,
 * and everything is loaded again after the server came back. With `keep`, the answer for the key
 * before stays until there is one for this: for what changes with every record.
 */
export function useResource<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>, keep = false): Resource<T> {
  const { returns } = useStore(connection);
  const [again, setAgain] = useState(0);
  const [state, setState] = useState<{ key: string | null; data: T | null; error: ApiError | null; loading: boolean }>(
    () => start<T>(key),
  );
  const loader = useRef(load);
  loader.current = load;

  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    setState((now) => (now.key === key || (keep && !cache.has(key)) ? { ...now, loading: true } : start<T>(key)));
    loader
      .current(abort.signal)
      .then((data) => {
        if (abort.signal.aborted) return;
        remember(key, data);
        setState({ key, data, error: null, loading: false });
      })
      .catch((error: unknown) => {
        if (abort.signal.aborted || isAbort(error)) return;
        const known = error instanceof ApiError ? error : new ApiError(0, "page", String(error));
        setState((now) => ({ key, data: now.key === key || keep ? now.data : null, error: known, loading: false }));
      });
    return () => abort.abort();
  }, [key, again, returns]);

  const reload = useCallback(() => setAgain((n) => n + 1), []);
  const shown = state.key === key || (keep && !(key !== null && cache.has(key))) ? state : start<T>(key);
  return { data: shown.data, error: shown.error, loading: shown.loading, reload };
}

function start<T>(key: string | null) {
  const data = key === null ? null : ((cache.get(key) as T | undefined) ?? null);
  return { key, data, error: null, loading: key !== null };
}
