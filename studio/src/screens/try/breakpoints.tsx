import { useEffect, useId, useState } from "react";
import type { Breakpoint } from "../../api/types";
import { Icon } from "../../parts/icons";

interface Props {
  breakpoint: Breakpoint;
  name: string;
  onWhen: (when: string | null) => void;
  onRemove: () => void;
}

/** A breakpoint with its condition, which counts once it is left or confirmed. */
export function BreakpointField({ breakpoint, name, onWhen, onRemove }: Props) {
  const written = breakpoint.when ?? "";
  const [text, setText] = useState(written);
  const id = useId();
  useEffect(() => setText(written), [written]);
  const commit = () => text.trim() !== written && onWhen(text.trim() || null);
  return (
    <div className="breakpoint" role="group" aria-label={`Breakpoint at ${name}`}>
      <span className="stop-mark set">
        <Icon name="break" size={12} />
        {written ? "break if" : "break"}
      </span>
      <b>{name}</b>
      <button type="button" className="icon-button" aria-label={`Remove the breakpoint at ${name}`} title="Remove" onClick={onRemove}>
        <Icon name="close" />
      </button>
      <div className="field block edit-field">
        <label htmlFor={id}>Only when</label>
        <input
          id={id}
          type="text"
          className="mono"
          autoComplete="off"
          spellCheck={false}
          data-when
          placeholder="always"
          value={text}
          onChange={(event) => setText(event.target.value)}
          onBlur={commit}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.nativeEvent.isComposing) return;
            event.preventDefault();
            commit();
          }}
        />
      </div>
    </div>
  );
}
