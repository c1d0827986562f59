import { Suspense } from "react";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Project } from "../../api/types";
import { BudgetsSection, HooksSection, LogSection, ServersSection, TrustSection } from "../../code/later";
import { Failure, Loading } from "../../parts/notice";
import { plural } from "../../parts/words";
import { link } from "../../route";

export function ProjectScreen() {
  const { data, error, reload } = useResource<Project>("project", (signal) => get("/project", signal));
  if (!data) return error ? <Failure alone error={error} retry={reload} /> : <Loading what="the project" />;
  const facts: [string, React.ReactNode, React.ReactNode][] = [
    ["Folder", <code>{data.path}</code>, "Definitions and runs on this page belong to it."],
    ["Portolan", <code>{data.version}</code>, "The version of the server."],
    [
      "Writing",
      data.readOnly ? "read-only" : "allowed",
      data.readOnly ? "The server was started with --read-only: nothing can be changed or answered here." : "Definitions can be written and tried, new runs begun from earlier ones, and questions answered, from this page.",
    ],
    [
      "Started by",
      data.observes ? "an agent's program" : "a person",
      data.observes ? "A studio that an agent started only observes: its answers would not be a person's." : "Where only a person's answer counts, a passkey or the terminal asks for it.",
    ],
    [
      "Passkeys",
      data.passkeys > 0 ? plural(data.passkeys, "passkey") : "none",
      data.passkeys > 0 ? (
        "Where only a person's own word counts, each answer on this page is confirmed by one of them."
      ) : (
        <>
          With one, questions where only a person's own word counts can be answered on this page. <code>portolan people passkey</code> in a terminal enrols it.
        </>
      ),
    ],
    ["Inbox", data.inbox === 0 ? "empty" : <a href={link.inbox()}>{plural(data.inbox, "open question")}</a>, "Questions of all runs, and calls at the gate, that wait for a person."],
  ];
  return (
    <div className="page narrow">
      <h1>{data.name}</h1>
      <dl className="project-facts">
        {facts.map(([label, value, meaning]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>
              <span className="fact-value">{value}</span>
              <span className="dim">{meaning}</span>
            </dd>
          </div>
        ))}
      </dl>
      <Suspense fallback={<Loading what="the rest of the project" />}>
        <TrustSection onlyShows={data.onlyShows} />
        <ServersSection onlyShows={data.onlyShows} />
        <BudgetsSection />
        <LogSection />
        <HooksSection />
      </Suspense>
    </div>
  );
}
