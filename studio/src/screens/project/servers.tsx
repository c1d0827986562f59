import { useId, useState } from "react";
import { get, post, toApiError, type ApiError } from "../../api/client";
import { useResource } from "../../api/resource";
import { Icon } from "../../parts/icons";
import { Failure, InlineFailure, Loading } from "../../parts/notice";
import { plural } from "../../parts/words";
import { link } from "../../route";
import { EMPTY, inputOf, type Draft, type Problems } from "../try/draft";
import { InputFields } from "../try/input";
import { fieldsOf } from "../try/schema";

interface Server {
  definition: string;
  file: string;
  name: string;
  /** What is started or contacted; nothing of one that is a part of Portolan. */
  reaches: string | null;
  disabled: boolean;
  refused: { message: string; help: string } | null;
}

interface Tool {
  name: string;
  title: string | null;
  description: string | null;
  inputSchema: unknown;
}

/** The servers that definitions call: their tools, and one called by hand. */
export function ServersSection({ onlyShows }: { onlyShows: string | null }) {
  const { data, error, reload } = useResource<{ servers: Server[] }>("servers", (signal) => get("/project/servers", signal));
  const id = useId();
  return (
    <section className="list-section" aria-labelledby={id}>
      <h2 id={id}>Servers {data && data.servers.length > 0 && <span className="count">{data.servers.length}</span>}</h2>
      <p className="section-text">What graphs of the project call. A server is started to list its tools or to call one, and ended afterwards.</p>
      {!data ? (
        error ? <Failure error={error} retry={reload} /> : <Loading what="the servers" />
      ) : data.servers.length === 0 ? (
        <p className="hint">No definition of the project calls a server.</p>
      ) : (
        <ul className="entries">
          {data.servers.map((server) => (
            <li key={`${server.definition} ${server.name}`} className="trust-entry">
              <ServerEntry server={server} onlyShows={onlyShows} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function ServerEntry({ server, onlyShows }: { server: Server; onlyShows: string | null }) {
  const [tools, setTools] = useState<{ tools: Tool[]; more: number } | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const may = onlyShows === null && server.refused === null && !server.disabled;
  const show = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      setTools(await post("/project/servers/tools", { definition: server.definition, server: server.name }));
    } catch (failure) {
      setError(toApiError(failure));
    }
    setBusy(false);
  };
  return (
    <>
      <div className="trust-head">
        <b>{server.name}</b>
        <span className="dim">
          of <a href={link.definition(server.definition)}>{server.file}</a>
        </span>
        <Standing server={server} />
        {may && (
          <button type="button" className="button small" aria-label={`${busy ? "Starting…" : "Show its tools"}: ${server.name} of ${server.definition}`} aria-disabled={busy} onClick={() => void show()}>
            {busy ? "Starting…" : "Show its tools"}
          </button>
        )}
      </div>
      {server.reaches !== null && (
        <p className="digest">
          <code>{server.reaches}</code>
        </p>
      )}
      {server.refused && (
        <p className="dim">
          {server.refused.message}: {server.refused.help}.
        </p>
      )}
      {error && <InlineFailure error={error} />}
      {tools && (
        <ul className="server-tools" aria-label={`Tools of ${server.name}`}>
          {tools.tools.map((tool) => (
            <li key={tool.name}>
              <details>
                <summary>
                  <code>{tool.name}</code> {tool.description && <span className="dim">{tool.description}</span>}
                </summary>
                <ToolForm server={server} tool={tool} />
              </details>
            </li>
          ))}
          {tools.tools.length === 0 && <li className="dim">It has no tools.</li>}
          {tools.more > 0 && <li className="dim">{plural(tools.more, "more tool")} left out.</li>}
        </ul>
      )}
    </>
  );
}

function Standing({ server }: { server: Server }) {
  if (server.disabled) return <Chip icon="minus" look="skipped" words="switched off" />;
  if (server.refused) return <Chip icon="lock" look="waiting" words="not trusted" />;
  return server.reaches === null ? <Chip icon="done" look="done" words="part of Portolan" /> : <Chip icon="done" look="done" words="trusted" />;
}

const Chip = ({ icon, look, words }: { icon: "minus" | "lock" | "done"; look: string; words: string }) => (
  <span className={`chip tint ${look}`}>
    <Icon name={icon} size={14} />
    {words}
  </span>
);

interface Reply {
  text: string;
  cut: boolean;
  isError: boolean;
  tookMs: number;
}

function ToolForm({ server, tool }: { server: Server; tool: Tool }) {
  const fields = fieldsOf(tool.inputSchema);
  const [draft, setDraft] = useState<Draft>(EMPTY);
  const [problems, setProblems] = useState<Problems>({});
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [reply, setReply] = useState<Reply | null>(null);
  const call = async () => {
    const found: Problems = {};
    const args = inputOf(draft, fields, found);
    setProblems(found);
    if (busy || Object.keys(found).length > 0) return;
    setBusy(true);
    setError(null);
    setReply(null);
    try {
      setReply(await post("/project/servers/call", { definition: server.definition, server: server.name, tool: tool.name, arguments: args }));
    } catch (failure) {
      setError(toApiError(failure));
    }
    setBusy(false);
  };
  return (
    <form
      className="tool-form"
      noValidate
      aria-label={`Call ${tool.name}`}
      onSubmit={(event) => {
        event.preventDefault();
        void call();
      }}
    >
      <InputFields draft={draft} fields={fields} problems={problems} onChange={(change) => setDraft((now) => ({ ...now, ...change }))} />
      <div className="actions">
        <button type="submit" className="button primary small" aria-disabled={busy}>
          {busy ? "Calling…" : "Call it"}
        </button>
      </div>
      {error && <InlineFailure error={error} />}
      {reply && (
        <div role="status">
          <p className="dim">
            {reply.isError ? "It answered with an error" : "It answered"} after {reply.tookMs.toLocaleString("en")} ms.{reply.cut && " Only the beginning is shown."}
          </p>
          <pre className="tool-reply" tabIndex={0} role="group" aria-label={`What ${tool.name} answered`}>
            {reply.text}
          </pre>
        </div>
      )}
    </form>
  );
}
