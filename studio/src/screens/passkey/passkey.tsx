import { useEffect, useId, useRef, useState } from "react";
import { connection } from "../../api/connection";
import { post, toApiError, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import { Elsewhere } from "../../passkey/elsewhere";
import { deviceName, made, type Enrolment } from "../../passkey/passkey";
import { hindrance } from "../../passkey/where";
import { Failure, InlineFailure, Loading, Notice } from "../../parts/notice";
import { useStore } from "../../parts/store";
import { link } from "../../route";

/** What `portolan people passkey` opens: a passkey is made and enrolled, and that is all. */
export function PasskeyScreen() {
  const begun = useResource<Enrolment>("passkey", (signal) => post("/passkeys/challenge", {}, signal));
  const { state } = useStore(connection);
  const [enrolled, setEnrolled] = useState<string | null>(null);

  if (enrolled !== null) return <Enrolled name={enrolled} />;
  if (begun.data && (state === "offline" || begun.error?.status === 0)) return <Ended />;
  if (begun.data) return <Form onEnrolled={setEnrolled} />;
  if (!begun.error) return <Loading what="what enrols a passkey" />;
  if (begun.error.status === 403) return <InTerminal />;
  return <Failure alone error={begun.error} retry={begun.reload} />;
}

function Form({ onEnrolled }: { onEnrolled: (name: string) => void }) {
  const [name, setName] = useState(() => deviceName(navigator));
  const [sending, setSending] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const id = useId();
  const why = hindrance();

  const enrol = async (event: React.FormEvent) => {
    event.preventDefault();
    if (sending || name.trim() === "") return;
    setSending(true);
    setError(null);
    try {
      // Each is good once, and not for long.
      const enrolment = await post<Enrolment>("/passkeys/challenge", {});
      const registration = await made(enrolment);
      const kept = await post<{ name: string }>("/passkeys", { ...registration, name: name.trim() });
      onEnrolled(kept.name);
    } catch (failure) {
      setError(toApiError(failure));
      setSending(false);
    }
  };

  return (
    <div className="page narrow enrol">
      <h1>Enrol a passkey</h1>
      <p>
        Some questions count only by a person's own word, and a page is no person: an agent may have its token, too. With a passkey you can answer them in the inbox all the same. Each answer is confirmed by your fingerprint, your
        face, a PIN or a security key, and nobody else can do that for you.
      </p>
      <p className="dim">
        The key itself stays with your device. What is kept here is its public half, which is on record from then on. <code>portolan people passkey --remove NAME</code> in a terminal takes it away.
      </p>
      {why === "elsewhere" ? (
        <p className="callout">
          <span>
            <Elsewhere what="to make one" />
          </span>
        </p>
      ) : why === "unable" ? (
        <p className="callout">This browser has no passkeys (WebAuthn). Open the address that the terminal shows in another one.</p>
      ) : (
        <form onSubmit={(event) => void enrol(event)}>
          <div className="field block">
            <label htmlFor={id}>Name</label>
            <input id={id} type="text" value={name} maxLength={60} required aria-describedby={`${id}-help`} autoComplete="off" onChange={(event) => setName(event.target.value)} />
            <span id={`${id}-help`}>By this you tell your passkeys apart. Name it after the device that it lies on.</span>
          </div>
          {error && <InlineFailure error={error} />}
          <div className="actions">
            <button type="submit" className="button primary" aria-disabled={sending || name.trim() === ""}>
              {sending ? "Waiting for your device…" : "Make a passkey"}
            </button>
          </div>
        </form>
      )}
    </div>
  );
}

function Enrolled({ name }: { name: string }) {
  const heading = useRef<HTMLDivElement>(null);
  useEffect(() => heading.current?.focus(), []);
  return (
    <div ref={heading} tabIndex={-1} role="status" className="enrolled">
      <Notice alone icon="done" title="The passkey is enrolled">
        <p>
          It is called <b>{name}</b>. From now on it confirms answers in the inbox of <code>portolan studio</code>.
        </p>
        <p>The command in the terminal has ended. You can close this window.</p>
      </Notice>
    </div>
  );
}

const Ended = () => (
  <Notice alone icon="offline" title="The command in the terminal has ended" tone="bad">
    <p>
      No passkey was enrolled from this window. <code>portolan people passkey</code> in a terminal begins again.
    </p>
  </Notice>
);

/** A studio does not enrol: whoever has its token may be an agent. */
const InTerminal = () => (
  <Notice
    alone
    icon="person"
    title="A terminal begins this"
    actions={
      <a className="button" href={link.inbox()}>
        Go to the inbox
      </a>
    }
  >
    <p>
      This page cannot begin to enrol a passkey, for an agent may have its token. Run <code>portolan people passkey</code> in a terminal of yours: it opens a page like this one, with a button.
    </p>
  </Notice>
);
