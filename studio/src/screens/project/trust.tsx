import { useId, useRef, useState } from "react";
import { get, post, toApiError, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { Failure, InlineFailure, Loading } from "../../parts/notice";
import { momentOf, plural } from "../../parts/words";

interface Entry {
  /** The digest of what was trusted: another text is another one. */
  key: string;
  file: string;
  at: string;
  runs: { node: string; argv: string[] }[];
}

/** What somebody has trusted: the commands of definitions, and the servers that they bring along. */
export function TrustSection({ onlyShows }: { onlyShows: string | null }) {
  const { data, error, reload } = useResource<{ trusted: Entry[]; unreadable: string[] }>("trust", (signal) => get("/project/trust", signal));
  const [revoking, setRevoking] = useState<Entry | null>(null);
  const [revoked, setRevoked] = useState<string | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  return (
    <section className="list-section" aria-labelledby={id}>
      <h2 id={id} ref={heading} tabIndex={-1}>
        Trusted {data && data.trusted.length > 0 && <span className="count">{data.trusted.length}</span>}
      </h2>
      <p className="section-text">
        What definitions run only after somebody has read and trusted it: commands of checks, and servers. When one of these commands changes, all of them need to be trusted anew, in a terminal: <code>portolan trust FILE</code>.
      </p>
      {revoked !== null && (
        <p className="saved-line" role="status">
          <Icon name="done" />
          <span>
            <code>{revoked}</code> is not trusted any more.
          </span>
        </p>
      )}
      {!data ? (
        error ? <Failure error={error} retry={reload} /> : <Loading what="what is trusted" />
      ) : data.trusted.length === 0 ? (
        <p className="hint">Nothing is trusted: no definition runs commands or servers of its own.</p>
      ) : (
        <ul className="entries">
          {data.trusted.map((entry) => (
            <li key={entry.key} className="trust-entry">
              <div className="trust-head">
                <b>{entry.file}</b>
                <span className="dim">
                  trusted <time dateTime={entry.at}>{momentOf(Date.parse(entry.at))}</time>
                </span>
                {onlyShows === null && (
                  <button type="button" className="button small" aria-label={`Revoke ${entry.file}`} onClick={() => setRevoking(entry)}>
                    Revoke…
                  </button>
                )}
              </div>
              <Commands entry={entry} />
              <p className="digest">
                <span className="dim">Digest</span> <code>{entry.key}</code>
              </p>
            </li>
          ))}
        </ul>
      )}
      {data?.unreadable.map((said) => (
        <p key={said} className="inline-failure">
          <Icon name="warning" />
          <span>{said}</span>
        </p>
      ))}
      {revoking && (
        <RevokeDialog
          entry={revoking}
          onClose={() => setRevoking(null)}
          onRevoked={() => {
            setRevoking(null);
            setRevoked(revoking.file);
            reload();
            // The button that had the focus is gone.
            requestAnimationFrame(() => heading.current?.focus());
          }}
        />
      )}
    </section>
  );
}

function Commands({ entry }: { entry: Entry }) {
  if (entry.runs.length === 0) return <p className="dim">No command of its own.</p>;
  return (
    <dl className="trust-runs">
      {entry.runs.map(({ node, argv }, i) => (
        <div key={i}>
          <dt>{node || "server"}</dt>
          <dd>
            <code>{argv.join(" ")}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function RevokeDialog({ entry, onClose, onRevoked }: { entry: Entry; onClose: () => void; onRevoked: () => void }) {
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const revoke = async () => {
    if (sending) return;
    setSending(true);
    try {
      await post("/project/trust/revoke", { key: entry.key });
      onRevoked();
    } catch (failure) {
      setError(toApiError(failure));
      setSending(false);
    }
  };
  return (
    <Dialog title={`Revoke trust in “${entry.file}”?`} onClose={onClose}>
      <p>{entry.runs.length > 0 ? `${plural(entry.runs.length, "command")} of it will not be run any more, and runs that need them wait.` : "It counts as unknown again."} To trust it again takes a person at a terminal.</p>
      <Commands entry={entry} />
      {error && <InlineFailure error={error} />}
      <div className="actions end">
        <button type="button" className="button" autoFocus onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="button primary" disabled={sending} onClick={() => void revoke()}>
          {sending ? "Revoking…" : "Revoke"}
        </button>
      </div>
    </Dialog>
  );
}
