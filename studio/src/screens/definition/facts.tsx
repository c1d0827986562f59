import type { About, Definition, Place } from "../../api/types";
import { Icon } from "../../parts/icons";
import { iconOfKind, kindWord, plural } from "../../parts/words";

export function Facts({ about, definition, onPlace }: { about: About | null; definition: Definition; onPlace: (place: Place) => void }) {
  if (!about) return <Whole definition={definition} />;
  const { place } = about;
  return (
    <div className="facts">
      <AboutHead about={about} />
      {place && definition.files[place.file] && (
        <button type="button" className="link" onClick={() => onPlace({ ...place })}>
          {definition.files[place.file]?.name}:{place.line}
        </button>
      )}
      <FactList about={about} />
    </div>
  );
}

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

function Whole({ definition }: { definition: Definition }) {
  const count = definition.drawing?.nodes.length ?? 0;
  return (
    <div className="facts">
      <header className="facts-head">
        <div>
          <h2>{definition.name}</h2>
          <p className="dim">
            {definition.dialect} · {plural(count, "node")} drawn
          </p>
        </div>
      </header>
      {definition.description && <p>{definition.description}</p>}
      <dl className="fact-list">
        <div>
          <dt>Files</dt>
          <dd>
            {definition.files.map((file) => (
              <div key={file.name}>
                <code>{file.name}</code>
              </div>
            ))}
          </dd>
        </div>
        <div>
          <dt>From</dt>
          <dd>{definition.source}</dd>
        </div>
      </dl>
      <p className="hint">Select a step to see what is written about it.</p>
    </div>
  );
}
