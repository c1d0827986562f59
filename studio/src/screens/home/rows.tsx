import type { DefinitionEntry, Halt, RunEntry } from "../../api/types";
import { Age, Coded, Status } from "../../parts/bits";
import { TerminalCommand } from "../../parts/command";
import { haltWords, statusOf } from "../../parts/halt";
import { Icon } from "../../parts/icons";
import { ago, dollars, isOver, plural, spentWords, statusLook } from "../../parts/words";
import { link } from "../../route";
import type { Elsewhere } from "./elsewhere";

/** `lastRuns`: the one that moved last first. */
export function DefinitionRow({ definition: d, lastRuns }: { definition: DefinitionEntry; lastRuns: RunEntry[] }) {
  const Entry = d.opens === false ? "div" : "a";
  return (
    <li>
      <Entry className="entry definition" href={d.opens === false ? undefined : link.definition(d.id)}>
        <span className="entry-main">
          <span className="entry-name">{d.name}</span>
          <span className={d.fault ? "entry-text whole" : "entry-text"}>{d.fault ? <Coded text={d.description} /> : d.description}</span>
        </span>
        <span className="entry-side">
          {d.openRuns > 0 && (
            <span className="chip tint here">
              <Icon name="here" size={14} />
              {plural(d.openRuns, "open run")}
            </span>
          )}
          {d.errors > 0 && (
            <span className="chip tint failed">
              <Icon name="error" size={14} />
              {plural(d.errors, "error")}
            </span>
          )}
          {d.warnings > 0 && (
            <span className="chip tint waiting">
              <Icon name="warning" size={14} />
              {plural(d.warnings, "warning")}
            </span>
          )}
          {d.untrusted && (
            <span className="chip tint waiting" title="Its checks or servers run commands that nobody has trusted: they are not run">
              <Icon name="lock" size={14} />
              not trusted
            </span>
          )}
          {d.fault === "no_definition" && <span className="chip">no definition</span>}
        </span>
        <span className="entry-facts">
          {!d.fault && (
            <>
              <span className="tag">{d.dialect}</span>
              <span>{plural(d.steps, "step")}</span>
              <span>{d.led ? "leads an agent" : "runs by itself"}</span>
              {lastRuns.length > 0 && <LastRuns runs={lastRuns} />}
            </>
          )}
          {d.source !== "catalog" && (
            <span className="path" title={d.file ?? undefined}>
              {d.file ?? (d.source === "project" ? "this project" : "another place")}
            </span>
          )}
        </span>
      </Entry>
      {d.source === "catalog" && <TerminalCommand text={`portolan catalog copy ${d.id}`} />}
    </li>
  );
}

/** How the last runs stand, each as an icon. */
function LastRuns({ runs }: { runs: RunEntry[] }) {
  return (
    <span className="last-runs">
      last runs
      {runs.map((run) => {
        const [icon, word, look] = statusLook(run.status);
        return (
          <span key={run.run} className={look} title={`${run.run}: ${word}`}>
            <Icon name={icon} size={14} />
            <span className="unseen">{word}</span>
          </span>
        );
      })}
      <Age since={runs[0]!.updatedAt} words={ago} />
    </span>
  );
}

/** A workflow that runs began with, and whose file is not in the folders: its last run shows the graph. */
export function ElsewhereRow({ used }: { used: Elsewhere }) {
  return (
    <li>
      <a className="entry definition" href={link.run(used.last)}>
        <span className="entry-main">
          <span className="entry-name">{used.workflow}</span>
          <span className="entry-text">Its file is outside of the definitions' folders, or has been removed. The last run shows its graph.</span>
        </span>
        <span className="entry-side">
          <span className="chip tint waiting" title="Open its file with `portolan studio FILE` to see and edit it here">
            <Icon name="folder" size={14} />
            not in the folders
          </span>
        </span>
        <span className="entry-facts">
          <span>{plural(used.runs, "run")}</span>
          <span className="path">{used.last}</span>
        </span>
      </a>
    </li>
  );
}

/** `given`: what the run is for, or else its input; `spent`: what models have used, where nothing halts it. */
export function RunRow({ run: r, name, halt, spent, given }: { run: RunEntry; name: string; halt: Halt | undefined; spent: Halt["spent"] | undefined; given: string | null }) {
  const words = halt && haltWords(halt, r.status);
  return (
    <li>
      <a className="entry run" href={link.run(r.run)}>
        <Status status={statusOf(r.status, halt)} />
        <span className="entry-main">
          <span className="entry-name" title={r.workflow}>
            {name}
            <span className="step">{halt?.stepName ?? r.step}</span>
          </span>
          <span className="entry-text">{given}</span>
          {words && halt && (
            <span className={halt.turn === "held" ? "entry-why whole" : "entry-why"}>
              <Icon name={words.icon} size={14} />
              <b>{words.who}</b>
              <span className="dim">
                {halt.turn !== "nobody" && <Age since={halt.since} words={(age) => (age === "now" ? "" : `for ${age}`)} />}
              </span>
              <span title={words.why ?? undefined}>{words.why !== null && <Coded text={words.why} />}</span>
            </span>
          )}
        </span>
        <span className="entry-end">
          <code>{r.run}</code>
          <Age since={r.updatedAt} words={isOver(r.status) ? ago : undefined} />
          <Used retries={halt?.retries ?? null} spent={halt?.spent ?? spent ?? null} />
        </span>
      </a>
    </li>
  );
}

/** The retries of where a run stands, and what models have cost; tokens where no price is known. */
function Used({ retries, spent }: Pick<Halt, "retries" | "spent">) {
  const money = spent?.microdollars ?? 0;
  const tokens = (spent?.input_tokens ?? 0) + (spent?.output_tokens ?? 0);
  const cost = money > 0 ? dollars(money) : tokens > 0 && plural(tokens, "token");
  return (
    <>
      {retries !== null && retries.used > 0 && <span title={`Retries of ${retries.gate}`}>{`${retries.used} of ${plural(retries.budget, "retry", "retries")} used`}</span>}
      {spent !== null && cost && <span title={spentWords(spent)}>{cost}</span>}
    </>
  );
}
