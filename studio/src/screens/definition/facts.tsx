import type { About } from "../../api/types";
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

export function FactList({ about }: { about: About }) {
  if (about.facts.length === 0) return null;
  return (
    <dl className="fact-list">
      {about.facts.map((fact, i) => (
        <div key={i}>
          <dt>{fact.label}</dt>
          <dd>{fact.code ? <pre tabIndex={0} aria-label={fact.label}>{fact.text}</pre> : fact.text}</dd>
        </div>
      ))}
    </dl>
  );
}
