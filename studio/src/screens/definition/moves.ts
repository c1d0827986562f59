import { useCallback } from "react";
import { put, segment, toApiError, type ApiError } from "../../api/client";
import type { Definition, Edited, Operation, Point } from "../../api/types";
import type { Document, Moved } from "../../document/document";
import type { Wire } from "../../document/wire";

type Offsets = Record<string, Point>;

/** What is moved by hand in the drawing of a definition: kept by the server, beside the project. Each move is a step of the history. */
export function useMoves(definition: Definition, root: string | null, document: Document, wire: Wire, onRefused: (error: ApiError) => void) {
  const places = `/definitions/${segment(definition.id)}/places`;
  const refused = useCallback((error: unknown) => onRefused(toApiError(error)), [onRefused]);
  /** Returns all offsets of the workflow; without offsets, all nodes return to the layout. */
  const keep = useCallback(async (of: string | null, moves: Offsets | null) => (await put<{ moved: Offsets }>(places, { root: of, moves })).moved, [places]);
  const redrawn = useCallback(() => wire.ask(), [wire]);
  const place = useCallback(({ root, offsets }: Moved) => void keep(root, offsets).then(redrawn, refused), [keep, redrawn, refused]);

  /** Moves a node from its offset to another one. */
  const move = useCallback(
    async (id: string, to: Point, from: Point): Promise<boolean> => {
      try {
        await keep(root, { [id]: to });
      } catch (error) {
        refused(error);
        return false;
      }
      document.moves({ root, offsets: { [id]: from } }, { root, offsets: { [id]: to } }, id);
      redrawn();
      return true;
    },
    [keep, root, document, redrawn, refused],
  );
  const layOutAgain = useCallback(async () => {
    try {
      const before = await keep(root, {});
      await keep(root, null);
      const after = Object.fromEntries(Object.keys(before).map((id): [string, Point] => [id, [0, 0]]));
      document.moves({ root, offsets: before }, { root, offsets: after }, null);
      redrawn();
    } catch (error) {
      refused(error);
    }
  }, [keep, root, document, redrawn, refused]);
  /** Under its new name a step stands where it stood. */
  const follow = useCallback(
    (operations: unknown[], moved: (id: string) => Point | undefined, result: Edited) => {
      const [operation] = operations as Operation[];
      if (operations.length !== 1 || operation?.is !== "rename" || result.select === null) return;
      const by = moved(operation.node);
      if (by && operation.node !== result.select) place({ root, offsets: { [result.select]: by } });
    },
    [place, root],
  );
  return { move, layOutAgain, follow, place };
}
