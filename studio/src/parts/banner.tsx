import { useEffect, useState } from "react";
import { connection } from "../api/connection";
import { Icon } from "./icons";
import { useStore } from "./store";

/** What concerns the whole page: the server is gone, it came back, it was replaced, or it only observes. */
export function Banner({ onlyShows }: { onlyShows: string | null }) {
  const { state, returns, updated } = useStore(connection);
  const [back, setBack] = useState(false);

  useEffect(() => {
    if (returns === 0) return;
    setBack(true);
    const timer = setTimeout(() => setBack(false), 5_000);
    return () => clearTimeout(timer);
  }, [returns]);

  return (
    <div className="banners" aria-live="polite">
      {state === "offline" && (
        <p className="banner bad">
          <Icon name="offline" />
          <span>
            <b>The server does not answer.</b> What you see is as it was. This page connects again by itself; start <code>portolan studio</code> if it ended.
          </span>
        </p>
      )}
      {state === "refused" && (
        <p className="banner bad">
          <Icon name="lock" />
          <span>
            <b>The server was started anew and does not know this page.</b> Open the address that <code>portolan studio</code> printed last.
          </span>
        </p>
      )}
      {state === "live" && back && (
        <p className="banner good">
          <Icon name="done" />
          <span>The server is back. Everything on this page is up to date.</span>
        </p>
      )}
      {updated && (
        <p className="banner">
          <Icon name="engine" />
          <span>The server has another version now.</span>
          <button type="button" className="button small" onClick={() => location.reload()}>
            Load the page again
          </button>
        </p>
      )}
      {onlyShows !== null && (
        <p className="banner">
          <Icon name="lock" />
          <span>{onlyShows}</span>
        </p>
      )}
    </div>
  );
}
