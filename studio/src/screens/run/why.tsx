import type { Failed, Run } from "../../api/types";
import { Age, Coded } from "../../parts/bits";
import { endOf, haltWords } from "../../parts/halt";
import { Icon } from "../../parts/icons";
import { UntrustedNote } from "../../parts/untrusted";
import { ago } from "../../parts/words";
import { link } from "../../route";

interface Props {
  run: Run;
  /** What steps are called, by their ids. */
  names: Record<string, string>;
  /** What the drawn step is called that a step belongs to. */
  nameOf: (step: string) => string;
  onMove: (seq: number) => void;
  /** Shows a step, by its name in the drawing or its id. */
  onShow: (step: string) => void;
  /** Runs again from a step. */
  onAgain: ((step: string) => void) | null;
}

/** Why a run does not go on: whose turn it is, since when, and what went wrong last, with what can be done about it. */
export function WhyItStands({ run, names, nameOf, onMove, onShow, onAgain }: Props) {
  const halt = run.halt ?? null;
  const lacking = run.status === "success" ? null : (run.untrusted ?? null);
  // What is driven here says so itself.
  const goesOn = halt === null || (halt.turn === "engine" && halt.failed.length === 0);
  if (goesOn && !lacking) return null;
  const words = halt && !goesOn ? haltWords(halt, run.status) : null;
  const wrong = halt?.failed[0]?.node || halt?.node || "";
  return (
    <section className="why" aria-label={run.over ? "Why it ended" : "Why it stands"}>
      {halt && words && (
        <>
          <div className="why-head">
            <p>
              <span className={`tint ${words.look}`}>
                <Icon name={words.icon} />
              </span>
              <b>{words.who}</b>
              {!run.over && (
                <>
                  {" at "}
                  <button type="button" className="why-step" onClick={() => onShow(halt.node)}>
                    {halt.stepName}
                  </button>
                </>
              )}
              <span className="dim">
                <Age since={halt.since} words={(age) => (age === "now" ? "since just now" : run.over ? `${age} ago` : `for ${age}`)} />
                {halt.turn === "person" && halt.personOnly && "; only a person's own answer counts"}
                {halt.branch !== null && `; in branch ${halt.branch}`}
              </span>
            </p>
            <div className="why-actions">
              {halt.turn === "person" && (
                <a className="button primary" href={link.inbox(run.run)}>
                  <Icon name="person" />
                  Answer…
                </a>
              )}
              {halt.turn === "nobody" && onAgain && halt.failed.length > 0 && (
                <button type="button" className="button primary" onClick={() => onAgain(wrong)}>
                  <Icon name="retry" />
                  Run again from {nameOf(wrong)}…
                </button>
              )}
              {halt.failed.length > 0 && (
                <button type="button" className="button" onClick={() => onShow(wrong)}>
                  Show {nameOf(wrong)}
                </button>
              )}
            </div>
          </div>
          {(halt.turn === "person" || halt.turn === "held") && halt.asks && <p className="why-asks"><Coded text={halt.asks} /></p>}
          {halt.turn === "held" && halt.help && <p><Coded text={halt.help} /></p>}
          {halt.failed.map((failed, i) => (
            <Wrong key={i} failed={failed} names={names} lines={halt.turn === "agent" ? 3 : 6} />
          ))}
          {halt.last && (!run.over || halt.failed.length === 0) && (
            <p className="dim why-last">
              Last: <Coded text={halt.last.text} names={names} /> <Age since={halt.last.at} words={ago} />{" "}
              <button type="button" className="link" onClick={() => onMove(halt.last?.seq ?? 1)}>
                show record {halt.last.seq}
              </button>
            </p>
          )}
        </>
      )}
      {lacking && <UntrustedNote lacking={lacking} />}
    </section>
  );
}

/** What went wrong, with the end of what was printed. */
function Wrong({ failed, names, lines }: { failed: Failed; names: Record<string, string>; lines: number }) {
  const { end, more } = endOf(failed.output, lines);
  const step = failed.node === "" ? null : (names[failed.node] ?? failed.node);
  return (
    <div className="why-wrong">
      <p className="tint failed">
        <Icon name="failed" size={14} />
        <span>
          {failed.check === null ? (
            <>
              <b>{step}</b> failed: <Coded text={failed.reason} />
            </>
          ) : (
            <>
              Check <b>{failed.check}</b>
              {step && <> of {step}</>} did not hold: <Coded text={failed.reason} />
            </>
          )}
        </span>
      </p>
      {end !== "" && (
        <pre className="value" tabIndex={0} role="group" aria-label={`The end of the output of ${failed.check ?? step}`}>
          <span>
            {more > 0 && <span className="dim">{`… ${more} lines before\n`}</span>}
            {end}
          </span>
        </pre>
      )}
    </div>
  );
}
