import { useState } from "react";
import type { ApiError } from "../../api/client";
import type { About, Checked, Definition, DrawnEdge, Operation } from "../../api/types";
import { indexDrawing } from "../../graph/model";
import { Chooser } from "../../parts/chooser";
import { Dialog } from "../../parts/dialog";
import { InlineFailure } from "../../parts/notice";
import { asksOutcome, type Placement } from "./places";
import { iconOfKind, kindIcon } from "../../parts/words";

/** What a person is asked before an operation can be done. */
export type Ask =
  | { is: "add" }
  | { is: "connect"; from: string; edge: string | null }
  | { is: "outcome"; from: string; to: string }
  | { is: "rename"; node: string }
  | { is: "kind"; node: string }
  | { is: "delete"; node: string };

interface Props {
  ask: Ask;
  definition: Definition;
  shown: Checked;
  placements: Placement[];
  run: (operation: Operation) => Promise<ApiError | null>;
  onAsk: (ask: Ask | null) => void;
  /** A step was added. */
  onAdded: () => void;
}

export function AskDialog({ ask, definition, shown, placements, run, onAsk, onAdded }: Props) {
  const [placement, setPlacement] = useState(0);
  const close = () => onAsk(null);
  const send = async (operation: Operation) => {
    const refused = await run(operation);
    if (!refused) close();
    return refused;
  };
  const graph = shown.drawing ? indexDrawing(shown.drawing) : null;
  const nameOf = (id: string) => shown.about[id]?.name ?? id;
  if (!graph) return null;

  switch (ask.is) {
    case "add":
      return (
        <Chooser
          title="Add a step"
          choices={definition.palette.filter((kind) => kind.addable).map((kind) => ({ id: kind.kind, label: kind.label, detail: kind.help, icon: iconOfKind(kind.kind) }))}
          onChoose={async (kind) => {
            const refused = await send({ is: "add", kind, ...placements[placement]?.place });
            if (!refused) onAdded();
            return refused;
          }}
          onClose={close}
        >
          {placements.length > 1 && (
            <label className="field inline">
              <span>Where</span>
              <select value={placement} onChange={(event) => setPlacement(Number(event.target.value))}>
                {placements.map(({ label }, i) => (
                  <option key={label} value={i}>
                    {label}
                  </option>
                ))}
              </select>
            </label>
          )}
        </Chooser>
      );
    case "connect":
      return (
        <Chooser
          title={ask.edge === null ? `Connect “${nameOf(ask.from)}” to` : `Lead the edge from “${nameOf(ask.from)}” to`}
          choices={graph.ordered.filter((node) => !node.id.includes("/") && node.kind !== "start").map((node) => ({ id: node.id, label: node.name, detail: node.node ?? undefined, icon: kindIcon(node) }))}
          onChoose={(to) => {
            if (ask.edge !== null) return send({ is: "reconnect", edge: ask.edge, to });
            if (!asksOutcome(definition, shown.about[ask.from])) return send({ is: "connect", from: ask.from, to });
            onAsk({ is: "outcome", from: ask.from, to });
            return Promise.resolve(null);
          }}
          onClose={close}
        />
      );
    case "outcome": {
      const used = new Set(graph.outgoing.get(ask.from)?.map((edge) => edge.on));
      const outcomes = [...(shown.about[ask.from]?.outcomes ?? [])].sort((a, b) => Number(used.has(a)) - Number(used.has(b)));
      return (
        <Chooser
          key="outcome"
          title={`“${nameOf(ask.from)}” leads to “${nameOf(ask.to)}” on`}
          choices={[...outcomes.map((on) => ({ id: on, label: on, detail: used.has(on) ? "has an edge already" : undefined })), { id: "", label: "every outcome", detail: "the edge names none" }]}
          onChoose={(on) => send({ is: "connect", from: ask.from, to: ask.to, ...(on ? { on } : {}) })}
          onClose={close}
        />
      );
    }
    case "kind":
      return (
        <Chooser
          title={`“${nameOf(ask.node)}” becomes`}
          choices={definition.palette.filter((kind) => kind.addable && !kind.apart && kind.kind !== shown.about[ask.node]?.word).map((kind) => ({ id: kind.kind, label: kind.label, detail: kind.help, icon: iconOfKind(kind.kind) }))}
          onChoose={(kind) => send({ is: "kind", node: ask.node, kind })}
          onClose={close}
        />
      );
    case "rename":
      return <RenameDialog about={shown.about[ask.node]} onSend={(to) => send({ is: "rename", node: ask.node, to })} onClose={close} />;
    case "delete": {
      const edges = [...(graph.incoming.get(ask.node) ?? []), ...(graph.outgoing.get(ask.node) ?? [])].filter((edge, i, all) => all.indexOf(edge) === i);
      return <DeleteDialog name={nameOf(ask.node)} edges={edges} nameOf={nameOf} onSend={() => send({ is: "delete", nodes: [ask.node] })} onClose={close} />;
    }
  }
}

function RenameDialog({ about, onSend, onClose }: { about: About | undefined; onSend: (to: string) => Promise<ApiError | null>; onClose: () => void }) {
  const [to, setTo] = useState(about?.id ?? "");
  const [error, setError] = useState<ApiError | null>(null);
  return (
    <Dialog title={`Rename “${about?.name ?? ""}”`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (to === about?.id) onClose();
          else void onSend(to.trim()).then(setError);
        }}
      >
        <label className="field block">
          <span>Its id. Whatever refers to it follows.</span>
          <input type="text" className="mono" autoFocus autoComplete="off" spellCheck={false} value={to} onFocus={(event) => event.target.select()} onChange={(event) => setTo(event.target.value)} />
        </label>
        {error && <InlineFailure error={error} />}
        <div className="actions end">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={!to.trim()}>
            Rename
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function DeleteDialog({ name, edges, nameOf, onSend, onClose }: { name: string; edges: DrawnEdge[]; nameOf: (id: string) => string; onSend: () => Promise<ApiError | null>; onClose: () => void }) {
  const [error, setError] = useState<ApiError | null>(null);
  return (
    <Dialog title={`Delete “${name}”?`} onClose={onClose}>
      {edges.length > 0 && (
        <>
          <p>These edges go with it:</p>
          <ul className="edge-names">
            {edges.map((edge) => (
              <li key={edge.id}>
                {nameOf(edge.from)} → {nameOf(edge.to)} {edge.on && <span className="tag">{edge.on}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
      {error && <InlineFailure error={error} />}
      <div className="actions end">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button primary" autoFocus onClick={() => void onSend().then(setError)}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
