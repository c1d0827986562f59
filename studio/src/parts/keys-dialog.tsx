import { useEffect, useRef } from "react";
import { Dialog } from "./dialog";
import { KEYS } from "./keys";

export function KeysDialog({ onClose }: { onClose: () => void }) {
  const list = useRef<HTMLDivElement>(null);
  // From here the arrow keys scroll, where not all of it is seen.
  useEffect(() => list.current?.focus({ preventScroll: true }), []);
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      <div className="keys" ref={list} tabIndex={-1}>
        {KEYS.map(([place, keys]) => (
          <section key={place}>
            <h3>{place}</h3>
            <dl>
              {keys.map(([key, meaning]) => (
                <div key={key}>
                  <dt>
                    {key.split(" ").map((part) => (
                      <kbd key={part}>{part}</kbd>
                    ))}
                  </dt>
                  <dd>{meaning}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
