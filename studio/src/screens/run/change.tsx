import { useId, useState } from "react";
import type { ApiError } from "../../api/client";
import type { Control, FrameValues, Moment } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { InlineFailure, Loading } from "../../parts/notice";
import { readJson } from "../try/schema";
import { changeOf } from "./changes";

interface Props {
  moment: Moment | null;
  send: (control: Control) => Promise<ApiError | null>;
  onClose: () => void;
}

/** Changes what a node has come to, or a variable, while the run is paused. */
export function ChangeDialog({ moment, send, onClose }: Props) {
  const frames = (moment?.values ?? []).filter((frame) => Object.keys(frame.value).length > 0);
  return (
    <Dialog title="Change a value" onClose={onClose}>
      {!moment ? <Loading what="the values" /> : frames.length === 0 ? <p className="hint">Nothing has a value yet.</p> : <ChangeForm frames={frames} send={send} onClose={onClose} />}
    </Dialog>
  );
}

function ChangeForm({ frames, send, onClose }: { frames: FrameValues[]; send: Props["send"]; onClose: () => void }) {
  // Where it is deepest is where it is: that is what is changed most.
  const [frame, setFrame] = useState(frames.at(-1)?.frame ?? "");
  const values = frames.find((entry) => entry.frame === frame)?.value ?? {};
  const names = Object.keys(values);
  const [name, setName] = useState(names.at(-1) ?? "");
  const [{ text, plain }, setValue] = useState(() => changeOf("", values[names.at(-1) ?? ""] ?? null));
  const [error, setError] = useState<ApiError | null>(null);
  const [sending, setSending] = useState(false);
  const id = useId();
  const read = plain ? { value: text } : readJson(text);
  const choose = (frame: string, name: string, from: Record<string, unknown>) => {
    setFrame(frame);
    setName(name);
    setValue(changeOf("", from[name] ?? null));
    setError(null);
  };
  const submit = async (event: React.FormEvent) => {
    event.preventDefault();
    if ("problem" in read || sending) return;
    setSending(true);
    const refused = await send({ set: { frame, values: { [name]: read.value } } });
    setSending(false);
    if (refused) setError(refused);
    else onClose();
  };
  return (
    <form onSubmit={(event) => void submit(event)}>
      {frames.length > 1 && (
        <label className="field block">
          <span>Where</span>
          <select
            value={frame}
            onChange={(event) => {
              const next = frames.find((entry) => entry.frame === event.target.value);
              if (next) choose(next.frame, Object.keys(next.value).at(-1) ?? "", next.value);
            }}
          >
            {frames.map((entry) => (
              <option key={entry.frame} value={entry.frame}>
                {entry.frame === "" ? "the run itself" : entry.frame}
              </option>
            ))}
          </select>
        </label>
      )}
      <label className="field block">
        <span>Node or variable</span>
        <select className="mono" value={name} onChange={(event) => choose(frame, event.target.value, values)}>
          {names.map((entry) => (
            <option key={entry} value={entry}>
              {entry}
            </option>
          ))}
        </select>
      </label>
      <div className="field block">
        <label htmlFor={id}>Its value from now on, as {plain ? "text" : "JSON"}</label>
        <textarea id={id} className="mono" rows={8} spellCheck={false} value={text} aria-invalid={"problem" in read} aria-describedby={`${id}-problem`} onChange={(event) => setValue({ name: "", text: event.target.value, plain })} />
        <p id={`${id}-problem`} className={"problem" in read ? "field-problem bad" : "field-problem"} aria-live="polite">
          {"problem" in read ? read.problem : "That it was changed, and by whom, stays on the record of the run."}
        </p>
      </div>
      {error && <InlineFailure error={error} />}
      <div className="actions end">
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button primary" disabled={"problem" in read || sending}>
          {sending ? "Changing…" : "Change it"}
        </button>
      </div>
    </form>
  );
}
