import { memo } from "react";
import type { DrawnNode, NodeOverlay } from "../api/types";
import { Icon } from "../parts/icons";
import { arrivedWords, kindIcon, kindWord, passWords, stateIcon, stateWord, verifiedBy } from "../parts/words";
import { BAR, shapePath } from "./shapes";
import { useGraph, useGraphState } from "./state";

export const NodeView = memo(function NodeView({ data }: { data: { node: DrawnNode } }) {
  const { node } = data;
  const { actions } = useGraph();
  const overlay = useGraphState((state) => state.overlay?.nodes[node.id]);
  const watched = useGraphState((state) => state.overlay !== null);
  const selected = useGraphState((state) => state.selected === node.id);
  const mark = useGraphState((state) => state.marks[node.id]);
  const open = node.container === "open";
  const bar = node.kind === "fork" || node.kind === "join";
  const target = useGraphState((state) => state.line?.to === node.id);
  const pending = overlay?.state === "waiting";
  const paused = useGraphState((state) => state.stops.before === node.id);
  const stop = useGraphState((state) => state.stops.breaks[node.id]);

  const classes = ["node", node.kind, node.height < 40 && "low", open && "open", node.container && "container", overlay?.state, selected && "selected", target && "target", paused && "paused"];
  if (watched && !overlay) classes.push("untouched");
  if (node.result) classes.push(`result-${node.result}`);

  return (
    <div
      className={classes.filter(Boolean).join(" ")}
      style={{ width: node.width, height: node.height }}
      title={node.name}
    >
      <svg className="shape" width={node.width} height={node.height} aria-hidden="true">
        {node.container === "folded" && <path className="stack" d={shapePath(node)} transform="translate(4 4)" />}
        <path className="outline" d={shapePath(node)} />
        {pending && <path className="inner" d={shapePath(node, 4)} />}
        {node.kind === "subflow" && !open && <path className="rail" d={`M7 1V${node.height - 1}M${node.width - 7} 1V${node.height - 1}`} />}
      </svg>
      {bar ? (
        <span className="bar-name" style={{ top: Math.min(BAR, node.height) / 2 }}>
          {node.name}
        </span>
      ) : (
        <div className="face">
          {node.container ? (
            <button type="button" className="fold nodrag" tabIndex={-1} aria-label={`${open ? "Fold" : "Open"} ${node.name}`} onClick={alone(() => actions.fold(node.id))}>
              <Icon name={open ? "down" : "right"} />
            </button>
          ) : null}
          <span className="kind" title={kindWord(node.kind)}>
            <Icon name={kindIcon(node)} />
          </span>
          <span className="names">
            <span className="name">{node.name}</span>
            {node.detail && !open && <span className="detail">{node.detail}</span>}
          </span>
          {open && node.detail && <span className="detail beside">{node.detail}</span>}
          {node.kind === "end" && node.result && !sameWord(node) && <span className="detail">{node.result}</span>}
          {open && overlay?.pass && <PassNow pass={overlay.pass} />}
          {open && overlay?.strip && <Strip strip={overlay.strip} />}
        </div>
      )}
      {bar && overlay?.arrived && <b className="bar-arrived">{arrivedWords(overlay.arrived)}</b>}
      <Marks node={node} overlay={overlay} mark={mark} />
      {(overlay || paused) && <Badge overlay={overlay} paused={paused} />}
      {(stop || actions.stop) && <StopMark stop={stop} onStop={actions.stop && (() => actions.stop?.(node.id))} name={node.name} />}
      {actions.drag && node.kind !== "end" && <span className="handle nopan nodrag" title="Drag to another step to connect" onPointerDown={(event) => actions.drag?.(event, node.id, null)} />}
    </div>
  );
});

/** An end is often called by its result; once is enough. */
const sameWord = (node: DrawnNode) => node.name.toLowerCase() === node.result;

/** What a node carries besides its name. It stands on the lower border, so that names have the whole width. */
function Marks({ node, overlay, mark }: { node: DrawnNode; overlay: NodeOverlay | undefined; mark: "error" | "warning" | undefined }) {
  const budget = overlay?.budget ?? node.budget ?? 0;
  const arrived = node.kind === "fork" || node.kind === "join" ? undefined : overlay?.arrived;
  const pass = node.container === "open" ? undefined : overlay?.pass;
  const strip = node.container === "open" ? undefined : overlay?.strip;
  const verified = verifiedBy(node);
  if (!mark && !pass && !strip && !arrived && !verified && budget === 0) return null;
  return (
    <span className="marks">
      {mark && (
        <span className={`mark ${mark}`} title={mark}>
          <Icon name={mark} />
        </span>
      )}
      {pass && <PassNow pass={pass} />}
      {strip && <Strip strip={strip} />}
      {arrived && <span className="arrived">{arrivedWords(arrived)}</span>}
      {verified && (
        <span className="verified" title={verified}>
          <Icon name={node.checks > 0 ? "checks" : "believed"} />
          {node.checks > 1 && node.checks}
        </span>
      )}
      {budget > 0 && <Budget budget={budget} used={overlay?.used ?? 0} />}
    </span>
  );
}

const MANY = 6;

/** Each retry is a dot, filled when it is used; many are a number. */
function Budget({ budget, used }: { budget: number; used: number }) {
  const words = `${used} of ${budget} retries used`;
  if (budget > MANY) {
    return (
      <span className="budget" title={words}>
        <Icon name="retry" />
        {used}/{budget}
      </span>
    );
  }
  return (
    <span className="budget" title={words}>
      {Array.from({ length: budget }, (_, i) => (
        <i key={i} className={i < used ? "used" : ""} />
      ))}
    </span>
  );
}

function PassNow({ pass }: { pass: NonNullable<NodeOverlay["pass"]> }) {
  return (
    <span className="pass-now">
      pass {pass.number}
      {pass.of !== undefined && `/${pass.of}`}
    </span>
  );
}

/** How many of the last passes have room beside a name. */
const PASSES = 10;

/** The last passes of a loop or items of a list, each with its shape; one in which something failed has its mark. */
function Strip({ strip: { first, passes } }: { strip: NonNullable<NodeOverlay["strip"]> }) {
  const shown = passes.slice(-PASSES);
  const from = first + passes.length - shown.length;
  return (
    <span className="strip" title={passWords({ first: from, passes: shown }).join("\n")}>
      {from > 1 && "…"}
      {shown.map(({ state, failed }, i) => (
        <i key={from + i} className={failed && state !== "failed" ? `${state} mended` : state}>
          {state === "failed" ? "×" : ""}
        </i>
      ))}
    </span>
  );
}

/** A breakpoint: its shape and its word. Where one can be set, the pointer is offered it; the keyboard has `b`. */
function StopMark({ stop, onStop, name }: { stop: "always" | "when" | undefined; onStop: (() => void) | null; name: string }) {
  const face = (
    <>
      <Icon name="break" />
      {stop === "when" ? "break if" : "break"}
    </>
  );
  const look = stop ? "stop-mark nodrag set" : "stop-mark nodrag";
  if (!onStop) return <span className={look}>{face}</span>;
  return (
    <button type="button" className={look} tabIndex={-1} title={`${stop ? "Remove the breakpoint" : "Set a breakpoint"} (b)`} aria-label={`Breakpoint at ${name}`} onClick={alone(onStop)} onDoubleClick={(event) => event.stopPropagation()}>
      {face}
    </button>
  );
}

function Badge({ overlay, paused }: { overlay: NodeOverlay | undefined; paused: boolean }) {
  const now = paused && (
    <span className="badge waiting">
      <Icon name="pause" />
      paused before
      {overlay && overlay.visits > 1 && <span className="times">×{overlay.visits}</span>}
    </span>
  );
  if (!overlay || (paused && overlay.state === "here" && !overlay.worst)) return <span className="badges">{now}</span>;
  const { state, worst, visits } = overlay;
  return (
    <span className="badges">
      {now}
      {worst && worst !== state && (
        <span className={`badge quiet ${worst}`} title={`Earlier: ${stateWord(worst)}`}>
          <Icon name={stateIcon(worst)} />
          {overlay.failures > 1 && `×${overlay.failures}`}
        </span>
      )}
      {!(paused && state === "here") && (
        <span className={`badge ${state}`}>
          <Icon name={stateIcon(state)} />
          {stateWord(state)}
          {overlay.altered && ", changed"}
          {visits > 1 && <span className="times">×{visits}</span>}
        </span>
      )}
    </span>
  );
}

const alone = (act: () => void) => (event: React.MouseEvent) => {
  event.stopPropagation();
  act();
};
