import { useId } from "react";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import { Icon, type IconName } from "../../parts/icons";
import { Failure, Loading } from "../../parts/notice";
import { plural } from "../../parts/words";

interface Log {
  path: string;
  lines: number;
  head: string | null;
  fault: { file: string; line: number; message: string } | null;
}

/** The event log, and whether each of its lines follows from the one before. */
export function LogSection() {
  const { data, error, loading, reload } = useResource<Log>("log", (signal) => get("/project/log", signal));
  const id = useId();
  return (
    <section className="list-section" aria-labelledby={id}>
      <h2 id={id}>Event log</h2>
      {!data ? (
        error ? <Failure error={error} retry={reload} /> : <Loading what="the event log: each line of it is verified" />
      ) : (
        <div className="entries verdict">
          {data.lines === 0 && !data.fault ? (
            <p>
              <Verdict icon="minus" look="skipped" word="empty" /> Nothing is in it yet. It holds what guards, the merge gate and the checks of phases decide, and what was got past. What the steps and gates of a workflow came to stands in the history of its run.
            </p>
          ) : data.fault ? (
            <>
              <p>
                <Verdict icon="failed" look="failed" word="broken" /> The chain breaks at line {data.fault.line}: {data.fault.message}
              </p>
              <p>
                <code>{data.fault.file}</code>
              </p>
            </>
          ) : (
            <p>
              <Verdict icon="done" look="done" word="whole" /> {plural(data.lines, "line")}, and each follows from the one before: none was changed or taken out.
            </p>
          )}
          <dl className="trust-runs">
            <div>
              <dt>File</dt>
              <dd>
                <code>{data.path}</code>
              </dd>
            </div>
            {data.head && (
              <div>
                <dt>Last digest</dt>
                <dd>
                  <code>{data.head}</code>
                  <p className="dim">Kept elsewhere, it shows whether the end was cut off later.</p>
                </dd>
              </div>
            )}
          </dl>
          <button type="button" className="button small" aria-disabled={loading} onClick={() => !loading && reload()}>
            {loading ? "Verifying…" : "Verify again"}
          </button>
        </div>
      )}
    </section>
  );
}

interface Hooks {
  installed: boolean;
  findings: { about: string; state: "good" | "doubtful" | "wrong"; message: string }[];
}

const STATES: Record<Hooks["findings"][number]["state"], [IconName, string]> = { good: ["done", "done"], doubtful: ["warning", "waiting"], wrong: ["failed", "failed"] };

/** What was installed into hosts and git, and whether it still does what it is there for. */
export function HooksSection() {
  const { data, error, loading, reload } = useResource<Hooks>("hooks", (signal) => get("/project/hooks", signal));
  const id = useId();
  return (
    <section className="list-section" aria-labelledby={id}>
      <h2 id={id}>Hooks</h2>
      {!data ? (
        error ? <Failure error={error} retry={reload} /> : <Loading what="the hooks: each is run as its host would run it" />
      ) : (
        <div className="entries verdict">
          {!data.installed && (
            <p>
              <Verdict icon="minus" look="skipped" word="none" /> Nothing is installed in this project. In a terminal: <code>portolan install</code>.
            </p>
          )}
          {data.findings.length > 0 && (
            <ul className="findings">
              {data.findings.map((finding, i) => (
                <li key={i}>
                  <Verdict icon={STATES[finding.state][0]} look={STATES[finding.state][1]} word={finding.state} />
                  <span>
                    <b>{finding.about}</b> {finding.message}
                  </span>
                </li>
              ))}
            </ul>
          )}
          {data.installed && data.findings.length === 0 && (
            <p>
              <Verdict icon="done" look="done" word="good" /> Everything that was installed holds.
            </p>
          )}
          <button type="button" className="button small" aria-disabled={loading} onClick={() => !loading && reload()}>
            {loading ? "Examining…" : "Examine again"}
          </button>
        </div>
      )}
    </section>
  );
}

const Verdict = ({ icon, look, word }: { icon: IconName; look: string; word: string }) => (
  <span className={`chip tint ${look}`}>
    <Icon name={icon} size={14} />
    {word}
  </span>
);
