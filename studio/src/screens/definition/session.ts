import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ApiError, post, put, segment, toApiError } from "../../api/client";
import type { Checked, Definition, Edited, Operation, Saved } from "../../api/types";
import { Document, type FileText } from "../../document/document";
import { forget, keep, keptFiles, keptOf, type Kept } from "../../document/kept";
import { Wire, type Shape } from "../../document/wire";
import { connection } from "../../api/connection";
import { useStore } from "../../parts/store";
import { guardRoutes, openRoutes, type Route } from "../../route";
import type { Current } from "./conflict";

const KEEP_AFTER = 250;

/** The document of a definition, what the server says about it, and how it stands to the disk. */
export function useSession(definition: Definition, shape: Shape, writable: boolean) {
  const [{ document, wire }] = useState(() => {
    const document = new Document(definition.files, definition.revision);
    const path = `/definitions/${segment(definition.id)}`;
    const wire = new Wire(
      document,
      {
        check: (files, { root, ...folds }) => post<Checked>(`${path}/checks`, { files, ...folds, ...(root === null ? {} : { root }) }),
        edit: (files, { root, ...folds }, operation) => post<Edited>(`${path}/edits`, { files, ...folds, ...(root === null ? {} : { root }), do: operation }),
      },
      definition,
    );
    return { document, wire };
  });
  const state = useStore(document.state);
  const checked = useStore(wire.state);
  const [kept, setKept] = useState<Kept | null>(() => (writable ? keptOf(definition.id, document) : null));
  const [theirs, setTheirs] = useState<Current | null>(null);

  useEffect(() => wire.start(), [wire]);
  // What was written while the server was gone, it has not seen.
  const { returns } = useStore(connection);
  useEffect(() => {
    if (returns > 0) wire.ask();
  }, [returns, wire]);
  useEffect(() => wire.reshape(shape), [wire, shape]);

  // What is on disk changed: it is loaded where nothing is unsaved, and told otherwise.
  const seen = useRef(definition.revision);
  useEffect(() => {
    if (definition.revision === seen.current) return;
    seen.current = definition.revision;
    const now = document.state.get();
    if (definition.revision === now.revision) return setTheirs(null);
    if (now.unsaved) return setTheirs({ revision: definition.revision, files: definition.files });
    document.reset(definition.files, definition.revision);
    wire.ask();
  }, [definition, document, wire]);

  useEffect(() => {
    if (!writable || kept) return;
    const timer = setTimeout(() => keep(definition.id, document), KEEP_AFTER);
    return () => clearTimeout(timer);
  }, [state.texts, state.base, state.revision, kept, writable]);
  useEffect(() => {
    if (!state.unsaved) return;
    const ask = (event: BeforeUnloadEvent) => {
      keep(definition.id, document);
      event.preventDefault();
    };
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [state.unsaved]);

  const run = useCallback(
    async (operations: Parameters<Wire["edit"]>[0], selected: string | null, then: (result: Edited) => void): Promise<ApiError | null> => {
      const result = await wire.edit(operations, selected, then);
      return result instanceof ApiError ? result : null;
    },
    [wire],
  );

  const save = useCallback(async (): Promise<ApiError | null> => {
    const { revision } = document.state.get();
    const files = document.files();
    try {
      const saved = await put<Saved>(`/definitions/${segment(definition.id)}/source`, { revision, files });
      seen.current = saved.revision;
      document.rebase(files, saved.revision);
      setTheirs(null);
      keep(definition.id, document);
      return null;
    } catch (failure) {
      const error = toApiError(failure);
      const current = (error.answer as { current?: Current } | null)?.current;
      if (error.status === 409 && current) setTheirs(current);
      return error;
    }
  }, [definition.id, document]);

  /** The chosen texts, over what is on disk now. */
  const merged = useCallback(
    (files: FileText[], current: Current, selected: string | null) => {
      document.rebase(current.files, current.revision);
      document.replace(files, selected, selected);
      seen.current = current.revision;
      setTheirs(null);
    },
    [document],
  );

  const takeKept = useCallback(() => {
    if (!kept) return;
    const now = document.state.get();
    const base = document.named(now.base);
    const missing = base.filter(({ name }) => !kept.names.includes(name)).map(({ name }) => ({ name, text: null }));
    document.replace([...keptFiles(kept, kept.texts), ...missing], null, null);
    // It goes on from where it began; if the file is another one by now, that has to be seen.
    if (kept.revision !== now.revision) {
      setTheirs({ revision: now.revision, files: base });
      document.rebase(keptFiles(kept, kept.base), kept.revision);
    }
    setKept(null);
  }, [kept, document]);
  const dropKept = useCallback(() => {
    forget(definition.id);
    setKept(null);
  }, [definition.id]);
  const discard = useCallback(() => {
    const { base, revision } = document.state.get();
    document.reset(document.named(base), revision);
    forget(definition.id);
    openRoutes();
    setTheirs(null);
  }, [document, definition.id]);

  /** The texts stay kept; the next address is shown without a question. */
  const leave = useCallback(() => {
    keep(definition.id, document);
    openRoutes();
  }, [definition.id, document]);

  return useMemo(
    () => ({ leave, document, wire, state, checked, kept, theirs, run, save, merged, takeKept, dropKept, discard }),
    [leave, document, wire, state, checked, kept, theirs, run, save, merged, takeKept, dropKept, discard],
  );
}

/** Where another screen is asked for while something is unsaved. */
export function useLeaving(id: string, unsaved: boolean) {
  const [leaving, setLeaving] = useState<string | null>(null);
  useEffect(() => {
    if (!unsaved) return;
    return guardRoutes((next: Route, address) => {
      if (next.screen === "definition" && next.id === id) return false;
      setLeaving(address);
      return true;
    });
  }, [id, unsaved]);
  return { leaving, stay: () => setLeaving(null) };
}

export type Session = ReturnType<typeof useSession>;
export type Operations = (Operation | ((last: Edited | null) => Operation))[];
