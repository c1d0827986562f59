import { useMemo, useRef, useState } from "react";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { DefinitionEntry, Project, RunEntry } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { Coded } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { Failure, Loading, Notice } from "../../parts/notice";
import { isOver, plural } from "../../parts/words";
import { link } from "../../route";
import { elsewhere } from "./elsewhere";
import { useInputs } from "./inputs";
import { DefinitionRow, ElsewhereRow, RunRow } from "./rows";
import { useHalts, useRuns } from "./runs";
import { matches, textsOf } from "./search";

/** How many runs that are over are shown at first, at most, and of those that match. */
const FEW = 5;
const MOST = 50;
const MATCHES = 200;
/** How many of its last runs a definition shows. */
const LAST = 5;

export function HomeScreen({ project }: { project: Project | null }) {
  const definitions = useResource<{ definitions: DefinitionEntry[] }>("definitions", (signal) => get("/definitions", signal));
  const runs = useRuns();
  const [search, setSearch] = useState("");
  /** Whether more than the last few finished runs are shown. */
  const [all, setAll] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const reload = useThrottled(definitions.reload, 300);
  useLive((events) => {
    if (events.some((event) => event.is === "definitions")) reload();
  });

  const words = search.trim().toLowerCase();
  const shownDefinitions = useMemo(
    () => (definitions.data?.definitions ?? []).filter((d) => matches(words, d.name, d.id, d.description, d.dialect, d.file)),
    [definitions.data, words],
  );
  const { halts, spent } = useHalts(runs.runs);
  // What has ended is told apart by what it was given, where nobody has said what it was for.
  const untold = runs.runs.filter((run) => isOver(run.status) && run.description === null);
  const inputs = useInputs(untold.slice(0, all ? MOST : 2 * FEW).map(({ run }) => run));
  // Runs are called as their definitions are.
  const names = useMemo(() => new Map((definitions.data?.definitions ?? []).map((d) => [d.id, d.name])), [definitions.data]);
  const nameOf = (run: RunEntry) => names.get(run.workflow) || run.workflow;
  const shownRuns = useMemo(() => runs.runs.filter((r) => matches(words, ...textsOf(r, nameOf(r), halts[r.run], inputs[r.run]))), [runs.runs, names, halts, inputs, words]);
  const own = shownDefinitions.filter(({ source }) => source !== "catalog");
  const catalogue = shownDefinitions.filter(({ source }) => source === "catalog");
  const others = useMemo(() => elsewhere(definitions.data?.definitions ?? null, runs.runs).filter((used) => matches(words, used.workflow)), [definitions.data, runs.runs, words]);
  const row = (run: RunEntry) => <RunRow key={run.run} run={run} name={nameOf(run)} halt={halts[run.run]} spent={spent[run.run]} given={run.description ?? inputs[run.run] ?? null} />;
  const lastRuns = ({ id, roots = [] }: DefinitionEntry) => runs.runs.filter(({ workflow }) => workflow === id || roots.includes(workflow)).slice(0, LAST);
  const definitionRow = (d: DefinitionEntry) => <DefinitionRow key={`${d.id} ${d.file}`} definition={d} lastRuns={lastRuns(d)} />;
  const open = shownRuns.filter((run) => !isOver(run.status));
  // What ended without having done what it was for is looked for first.
  const ended = shownRuns.filter((run) => isOver(run.status));
  const broken = ended.filter((run) => run.status === "failure" || run.status === "blocked").slice(0, words ? MATCHES : FEW);
  const finished = ended.filter((run) => !broken.includes(run));
  const shownFinished = finished.slice(0, words ? MATCHES : all ? MOST : FEW);

  // The arrow keys go through all results, whichever list they are in, and Enter opens the first.
  const onKeyDown = (event: React.KeyboardEvent) => {
    if (event.key === "Enter" && words && event.target instanceof HTMLInputElement) list.current?.querySelector<HTMLElement>("a.entry")?.click();
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("a.entry") ?? [])];
    const at = rows.indexOf(document.activeElement as HTMLElement);
    if (at < 0 && !(event.target instanceof HTMLInputElement)) return;
    event.preventDefault();
    if (at === 0 && event.key === "ArrowUp") list.current?.querySelector<HTMLElement>("[data-search]")?.focus();
    else rows[at + (event.key === "ArrowDown" ? 1 : -1)]?.focus();
  };

  return (
    <div className="page home" ref={list} onKeyDown={onKeyDown}>
      <h1 className="unseen">Home</h1>
      <div className="home-head">
        <label className="field search large">
          <Icon name="search" />
          <input data-search type="search" placeholder="Search definitions and runs" aria-label="Search definitions and runs" value={search} onChange={(event) => setSearch(event.target.value)} />
          <kbd>/</kbd>
        </label>
        {project !== null && project.inbox > 0 && (
          <a className="callout waiting" href={link.inbox()}>
            <Icon name="person" />
            <b>{plural(project.inbox, "question")}</b> {project.inbox === 1 ? "waits" : "wait"} for a person
            <Icon name="right" />
          </a>
        )}
      </div>

      <Section title="Open runs" count={open.length}>
        {runs.error && runs.runs.length === 0 ? (
          <Failure error={runs.error} retry={runs.reload} />
        ) : runs.loading && runs.runs.length === 0 ? (
          <Loading what="runs" />
        ) : open.length === 0 ? (
          words ? <p className="hint">No open run matches.</p> : <NoRuns />
        ) : (
          <ul className="entries">{open.map(row)}</ul>
        )}
      </Section>

      {broken.length > 0 && (
        <Section title="Ended without success" count={broken.length}>
          <ul className="entries">{broken.map(row)}</ul>
        </Section>
      )}

      {finished.length > 0 && (
        <Section title="Finished runs" count={finished.length}>
          <ul className="entries">{shownFinished.map(row)}</ul>
          {shownFinished.length < finished.length && !words && (
            <button type="button" className="button small more" onClick={() => setAll(true)}>
              Show {finished.length > MOST ? `the last ${MOST}` : `all ${finished.length}`}
            </button>
          )}
          {runs.more && (all || words) && <p className="hint">Older runs: <code>portolan runs list --all</code></p>}
        </Section>
      )}

      <Section title="Definitions" count={own.length + others.length}>
        {definitions.error && !definitions.data ? (
          <Failure error={definitions.error} retry={definitions.reload} />
        ) : !definitions.data ? (
          <Loading what="definitions" />
        ) : own.length + others.length === 0 && !words ? (
          <Notice icon="folder" title="This project has no definitions yet">
            <p>
              Copy one of the catalogue below with its command: it appears here at once. Or give the studio folders or files of your own: <code>portolan studio FOLDER</code>.
            </p>
          </Notice>
        ) : own.length + others.length === 0 ? (
          <p className="hint">{catalogue.length === 0 ? "No definition matches." : "No definition of the project matches."} {ELSEWHERE}</p>
        ) : (
          <>
            <ul className="entries">
              {own.map(definitionRow)}
              {others.map((used) => (
                <ElsewhereRow key={used.workflow} used={used} />
              ))}
            </ul>
            {!words && <p className="hint">{ELSEWHERE}</p>}
          </>
        )}
      </Section>

      {catalogue.length > 0 && (
        <Section title="Catalogue" count={catalogue.length}>
          <p className="section-text"><Coded text="Workflows that come with Portolan. The command of each copies it into the project, where it can be changed." /></p>
          <ul className="entries">
            {catalogue.map(definitionRow)}
          </ul>
        </Section>
      )}
    </div>
  );
}

const ELSEWHERE = (
  <>
    The files of <code>.flow/workflows</code> are here, and what runs began with. Other files and folders: <code>portolan studio FOLDER</code>.
  </>
);

function Section({ title, count, children }: { title: string; count: number; children: React.ReactNode }) {
  return (
    <section className="list-section" aria-label={title}>
      <h2>
        {title} {count > 0 && <span className="count">{count}</span>}
      </h2>
      {children}
    </section>
  );
}

function NoRuns() {
  return (
    <p className="hint">
      Nothing is running. An agent begins a run through MCP; <code>portolan run</code> begins one in the terminal.
    </p>
  );
}
