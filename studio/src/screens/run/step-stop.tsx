import type { Drawing } from "../../api/types";
import { isAt, toggled } from "../../graph/stops";
import { Icon } from "../../parts/icons";
import { BreakpointField } from "../try/breakpoints";
import type { Drive } from "./drive";

/** The breakpoint at the selected step of a run that is tried. */
export function StepStop({ id, drawing, drive }: { id: string; drawing: Drawing; drive: Drive }) {
  const node = drawing.nodes.find((entry) => entry.id === id);
  if (!node) return null;
  const { breakpoints, setBreakpoints } = drive;
  const found = breakpoints.find((breakpoint) => isAt(breakpoint, node, drawing));
  if (!found) {
    return (
      <button type="button" className="button small" onClick={() => setBreakpoints(toggled(breakpoints, node, drawing))} title="Set a breakpoint (b)">
        <Icon name="break" />
        Set a breakpoint
      </button>
    );
  }
  return (
    <BreakpointField
      breakpoint={found}
      name={node.name}
      onWhen={(when) => setBreakpoints(breakpoints.map((other) => (other === found ? { ...other, when } : other)))}
      onRemove={() => setBreakpoints(breakpoints.filter((other) => other !== found))}
    />
  );
}
