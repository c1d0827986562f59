import { useEffect, useState } from "react";
import { openAddress } from "../api/token";
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
            <b>The server does not answer.</b> What you see is as it was, and what you have not saved is kept. This page connects again by itself; if it ended, start{" "}
            <code>portolan studio --port {location.port}</code>.
          </span>
          <button type="button" className="button small" onClick={() => dispatchEvent(new Event("online"))}>
            Try now
          </button>
        </p>
      )}
      {state === "refused" && (
        <p className="banner bad">
          <Icon name="lock" />
          <span>
            <b>The server was started anew and does not know this page.</b> Paste the address that <code>portolan studio</code> printed last; what you have not saved is kept.
          </span>
          <Address />
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

/** Takes the address of another start, so that this page goes on as it is. */
function Address() {
  const [isNone, setNone] = useState(false);
  const take = (form: HTMLFormElement) => setNone(!openAddress(String(new FormData(form).get("address") ?? "").trim()));
  return (
    <form
      className="banner-form"
      onSubmit={(event) => {
        event.preventDefault();
        take(event.currentTarget);
      }}
    >
      <label className="field">
        <span className="unseen">The address that was printed last</span>
        <input name="address" type="text" className="mono" autoComplete="off" spellCheck={false} placeholder={`${location.origin}/#token=…`} aria-invalid={isNone} />
      </label>
      <button type="submit" className="button small">
        Go on here
      </button>
      {isNone && <span role="alert">That is no address of a studio: it ends with #token=…</span>}
    </form>
  );
}
