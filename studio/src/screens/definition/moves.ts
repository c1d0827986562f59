import { useCallback } from "react";
import { put, segment, toApiError, type ApiError } from "../../api/client";
import type { Definition, Edited, Operation, Point } from "../../api/types";
import type { Wire } from "../../document/wire";

/** What is moved by hand in the drawing of a definition: kept by the server, beside the project. */
export function useMoves(definition: Definition, root: string | null, wire: Wire, onRefused: (error: ApiError) => void) {
  const keep = useCallback(
    async (moves: Record<string, Point> | null): Promise<boolean> => {
      try {
        await put(`/definitions/${segment(definition.id)}/places`, { root, moves });
        wire.ask();
        return true;
      } catch (error) {
        onRefused(toApiError(error));
        return false;
      }
    },
    [definition.id, root, wire, onRefused],
  );
  const move = useCallback((id: string, by: Point) => keep({ [id]: by }), [keep]);
  const layOutAgain = useCallback(() => void keep(null), [keep]);
  /** Under its new name a step stands where it stood. */
  const follow = useCallback(
    (operations: unknown[], moved: (id: string) => Point | undefined, result: Edited) => {
      const [operation] = operations as Operation[];
      if (operations.length !== 1 || operation?.is !== "rename" || result.select === null) return;
      const by = moved(operation.node);
      if (by && operation.node !== result.select) void keep({ [result.select]: by });
    },
    [keep],
  );
  return { move, layOutAgain, follow };
}
