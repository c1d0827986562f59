import type { About } from "../../api/types";
import { Path } from "../../parts/bits";
import { Icon } from "../../parts/icons";
import { iconOfKind, kindWord } from "../../parts/words";

export function AboutHead({ about }: { about: About }) {
  return (
    <header className="facts-head">
      <span className="kind-tile">
        <Icon name={iconOfKind(about.kind)} />
      </span>
      <div>
        <h2>{about.name}</h2>
        <p className="dim">
          {kindWord(about.kind)} · <code>{about.id}</code>
        </p>
      </div>
    </header>
  );
}

/** What stands between a step and the way on: its checks with where each is written, or nothing. */
export function Verified({ about: { verification, checks = [] } }: { about: About }) {
  if (!verification) return null;
  if (verification === "believed") {
    return (
      <ul className="check-list">
        <li>
          <Icon name="believed" size={14} />
          <div>
            <b>Not checked</b>: nothing is checked before this step is left. What is reported counts.
          </div>
        </li>
      </ul>
    );
  }
  return (
    <section aria-label="Checks of this step">
      <h3>Checked before it is left</h3>
      <ul className="check-list">
        {checks.map((check) => (
          <li key={check.id}>
            <Icon name="checks" size={14} />
            <div>
              <b>{check.id}</b> {check.what}
              <p className="dim">{check.attachedBy ? <Path text={`attached by ${check.attachedBy.file}${check.attachedBy.line ? `, line ${check.attachedBy.line}` : ""}`} /> : "from the definition"}</p>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

export function FactList({ about }: { about: About }) {
  if (about.facts.length === 0) return null;
  return (
    <dl className="fact-list">
      {about.facts.map((fact, i) => (
        <div key={i}>
          <dt>{fact.label}</dt>
          <dd>{fact.code ? <pre tabIndex={0} aria-label={fact.label}>{fact.text}</pre> : <Path text={fact.text} />}</dd>
        </div>
      ))}
    </dl>
  );
}
