import { useEffect, useRef, useState } from "react";
import type { Driven, Moment, Run } from "../../api/types";
import { Coded } from "../../parts/bits";
import { Icon, type IconName } from "../../parts/icons";
import { useKeys } from "../../parts/keys";
import { InlineFailure } from "../../parts/notice";
import { ChangeDialog } from "./change";
import { isReady, type Drive } from "./drive";
import { SaveTestDialog } from "./save-test";

interface Props {
  run: Run;
  drive: Drive;
  /** The run as it is now; nothing while an earlier moment is shown. */
  moment: Moment | null;
  /** The name of the node that it waits before. */
  before: string | null;
  readOnly: boolean;
  onShow: () => void;
  onBreakpoint: (() => void) | null;
}

/** What is told to a run that is tried: go on, step, pause, stop, and what it has by now changed. */
export function DriveBar({ run, drive, moment, before, readOnly, onShow, onBreakpoint }: Props) {
  const { driven, busy, error, send } = drive;
  const [dialog, setDialog] = useState<"change" | "test" | null>(null);
  const can = abilities(run, driven, moment, busy || readOnly);
  const ready = isReady({ ...run, driven });
  const goOn = useRef<HTMLButtonElement>(null);
  // A fork begins to be driven when it is told to: that is what is done next.
  useEffect(() => {
    const { activeElement } = document;
    if (ready && !readOnly && (activeElement === document.body || activeElement?.id === "main")) goOn.current?.focus();
  }, [ready, readOnly]);

  useKeys((event) => {
    if (event.key === "c" && can.pause) void send({ do: "pause" });
    else if (event.key === "c" && can.resume) void send({ do: "resume" });
    else if (event.key === "s" && can.step) void send({ do: "step" });
    else if (event.key === "o" && can.step) void send({ do: "over" });
    else if (event.key === "v" && can.change) setDialog("change");
    else if (event.key === "b" && onBreakpoint && !busy) onBreakpoint();
    else return;
    event.preventDefault();
  });

  const [icon, look, words] = said({ ...run, driven });
  return (
    <section className="drive-bar" aria-label="How it is driven">
      <p className={`chip tint ${look}`} role="status">
        <Icon name={icon} size={14} />
        {words}
        {driven?.phase === "paused" && before !== null && <> before {before}</>}
      </p>
      {driven?.before && (
        <button type="button" className="button small" onClick={onShow} title={driven.before}>
          Show it
        </button>
      )}
      {!run.over && !readOnly && (
        <div className="drive-buttons" role="group" aria-label="Drive it">
          {can.pause || driven?.phase === "running" ? (
            <Command icon="pause" label="Pause" keys="c" disabled={!can.pause} onClick={() => void send({ do: "pause" })} />
          ) : (
            <Command ref={goOn} primary={ready} icon="play" label="Go on" keys="c" disabled={!can.resume} onClick={() => void send({ do: "resume" })} />
          )}
          <Command icon="step" label="Step" keys="s" disabled={!can.step} onClick={() => void send({ do: "step" })} />
          <Command icon="over" label="Step over" keys="o" disabled={!can.step} onClick={() => void send({ do: "over" })} />
          <Command icon="stop" label="Stop" hint="Stop: the run ends as cancelled" disabled={!can.stop} onClick={() => void send({ do: "stop" })} />
          <Command icon="edit" label="Change a value…" keys="v" disabled={!can.change} onClick={() => setDialog("change")} />
        </div>
      )}
      {run.over && !readOnly && (
        <button type="button" className="button small" onClick={() => setDialog("test")}>
          <Icon name="test" />
          Save as a test…
        </button>
      )}
      {!driven && !run.over && <p className="dim">This studio does not drive it yet. “Go on” has it do so, where it may; in a terminal, it is <code>portolan runs resume {run.run}</code>.</p>}
      {driven?.failed && (
        <div className="inline-failure" role="alert">
          <Icon name="error" />
          <span>
            It is not driven any more: <Coded text={driven.failed} />
            {!run.over && !readOnly && (
              <>
                {" "}
                <button type="button" className="button small" onClick={() => void send({ do: "resume", interrupted: "repeat" })}>
                  Make an interrupted call again
                </button>{" "}
                <button type="button" className="button small" onClick={() => void send({ do: "resume", interrupted: "fail" })}>
                  Count it as failed
                </button>
              </>
            )}
          </span>
        </div>
      )}
      {driven?.fault && (
        <p className="inline-failure" role="alert">
          <Icon name="warning" />
          <span>The condition of the breakpoint cannot be evaluated, so it waits here: <Coded text={driven.fault} /></span>
        </p>
      )}
      {error && dialog === null && <InlineFailure error={error} />}
      {dialog === "change" && <ChangeDialog moment={moment} send={send} onClose={() => setDialog(null)} />}
      {dialog === "test" && <SaveTestDialog run={run} onClose={() => setDialog(null)} />}
    </section>
  );
}

interface CommandProps {
  ref?: React.Ref<HTMLButtonElement>;
  icon: IconName;
  label: string;
  keys?: string;
  hint?: string;
  primary?: boolean;
  disabled: boolean;
  onClick: () => void;
}

function Command({ ref, icon, label, keys, hint, primary, disabled, onClick }: CommandProps) {
  // It stays in the order of the keyboard while it cannot be used: the focus would be lost at each step.
  return (
    <button ref={ref} type="button" className={`button small${primary ? " primary" : ""}`} aria-disabled={disabled} title={hint ?? `${label.replace("…", "")} (${keys})`} onClick={() => !disabled && onClick()}>
      <Icon name={icon} />
      {label}
    </button>
  );
}

function abilities(run: Run, driven: Driven | null, moment: Moment | null, blocked: boolean) {
  const phase = driven?.phase;
  const open = !run.over && !blocked;
  const waits = phase === "paused" && driven?.before !== null;
  return {
    pause: open && phase === "running",
    resume: open && phase !== "running",
    step: open && (waits || phase === "stopped" || phase === "finished"),
    stop: open && (phase === "running" || phase === "paused"),
    change: open && waits && moment !== null,
  };
}

function said(run: Run): [IconName, string, string] {
  const { driven } = run;
  if (run.over) return ["flag", { success: "done", cancelled: "cancelled" }[run.status as string] ?? "failed", "ended"];
  switch (driven?.phase) {
    case "running":
      return ["here", "here", "running"];
    case "paused":
      return ["pause", "waiting", driven.before === null ? "pausing" : "paused"];
    case "stopped":
      if (isReady(run)) return ["pause", "waiting", "ready: press Go on (c)"];
      return ["stop", "cancelled", "stopped"];
    case "finished":
      return run.status === "waiting" ? ["person", "waiting", "waits for a person"] : ["stop", "cancelled", "not driven"];
    default:
      return ["stop", "cancelled", "not driven here"];
  }
}
