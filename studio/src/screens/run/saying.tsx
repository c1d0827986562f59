import { useEffect, useState } from "react";
import type { Said } from "../../api/types";
import { useLive } from "../../events/use";

/** How many pieces are shown: the rest stands in its messages once it is whole. */
const MOST = 2_000;

/** What the model that works on a state is saying now, until its answer is kept. */
export function Saying({ run, id }: { run: string; id: string }) {
  const [pieces, setPieces] = useState<Said[]>([]);
  useEffect(() => setPieces([]), [run, id]);
  // Models are heard by the name of their state, wherever it runs.
  const name = id.slice(id.lastIndexOf("/") + 1);
  useLive((events) =>
    setPieces((pieces) =>
      events.reduce((now, event) => {
        if (event.is === "said" && event.said.run === run && event.said.node === name) return [...now, event.said].slice(-MOST);
        // A record may be told after what was said since.
        return event.is === "record" && event.record.run === run ? now.filter((piece) => piece.at > event.record.at) : now;
      }, pieces),
    ),
  );
  if (pieces.length === 0) return null;
  return (
    <section className="saying" aria-label="What the model says now">
      <h3>The model says</h3>
      <p>{pieces.map((piece) => piece.text).join("")}</p>
    </section>
  );
}
