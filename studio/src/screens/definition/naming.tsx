import { useId, useRef, useState } from "react";
import type { ApiError } from "../../api/client";
import type { About, Definition, Kind } from "../../api/types";
import { FormDialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";
import { iconOfKind } from "../../parts/words";
import { AskedFields, askedOf, valuesOf, type Asked } from "./asked";
import { wayBack } from "./back";
import { choiceOf, idOf, titleOf } from "./names";
import { type Placement, placesFor } from "./places";
import type { Operations } from "./session";

type Send = (operations: Operations) => Promise<ApiError | null>;

interface AddProps {
  definition: Definition;
  /** The kind that was chosen already, if one was. */
  kind: string | null;
  placements: Placement[];
  /** Ids that are taken. */
  taken: ReadonlySet<string>;
  onSend: Send;
  onClose: () => void;
}

/** Everything that a new step needs: what it is called, of which kind it is, and where it goes. */
export function AddDialog({ definition, kind: wanted, placements, taken, onSend, onClose }: AddProps) {
  const kinds = definition.palette.filter((entry) => entry.addable);
  const [kind, setKind] = useState(wanted ?? kinds[0]?.kind ?? "");
  const [title, setTitle] = useState("");
  const [id, setId] = useState<string | null>(null);
  const [placement, setPlacement] = useState(0);
  const [asked, setAsked] = useState<Asked>({});
  const [again, setAgain] = useState("");
  const help = useId();
  const chosen = kinds.find((entry) => entry.kind === kind);
  const places = placesFor(chosen, placements);
  const place = places[placement];
  const back = place ? wayBack(chosen, place) : null;
  const within = place?.within && mayLeadBack(definition, chosen) ? place.within : null;
  const titled = titleOf(chosen);
  const called = (id ?? idOf(title, taken)).trim();
  const add = () => {
    const values = { ...(titled && title.trim() ? { [titled.path]: title.trim() } : {}), ...valuesOf(askedOf(chosen), asked) };
    const operations: Operations = [{ is: "add", kind, id: called, ...place?.place, ...(Object.keys(values).length > 0 ? { values } : {}) }];
    if (within && again.trim() !== "") operations.push({ is: "connect", from: within.id, to: within.id, on: again.trim() });
    return onSend(operations);
  };
  return (
    <FormDialog title="Add a step" action="Add" ready={called !== ""} onSend={add} onClose={onClose}>
      {titled && (
        <label className="field block">
          <span>{titled.label}</span>
          <input type="text" autoComplete="off" value={title} placeholder="Review the notes" onChange={(event) => setTitle(event.target.value)} />
        </label>
      )}
      <div className="field block">
        <span id={`${help}-kind`}>
          Kind <span className="dim">(its first letter chooses it)</span>
        </span>
        <KindChoice kinds={kinds} chosen={kind} labelledBy={`${help}-kind`} describedBy={help} onChoose={(kind) => (setKind(kind), setPlacement(0), setAsked({}))} />
        <p id={help} className="dim">
          {chosen?.help}
        </p>
      </div>
      <AskedFields fields={askedOf(chosen)} texts={asked} onTexts={setAsked} />
      {within && (
        <label className="field block">
          <span>“{within.name}” is done again when</span>
          <input type="text" className="mono" autoComplete="off" spellCheck={false} value={again} placeholder="such as verdict == rework" onChange={(event) => setAgain(event.target.value)} />
          <span className="dim">A condition over what was reported; words need no quotes. Otherwise the work goes on as before. Empty for never.</span>
        </label>
      )}
      <label className="field block">
        <span>Where</span>
        <select value={placement} onChange={(event) => setPlacement(Number(event.target.value))}>
          {places.map(({ label }, i) => (
            <option key={label} value={i}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {back && (
        <p className="dim" role="status">
          {back}
        </p>
      )}
      <label className="field block">
        <span>Id, by which edges and expressions name it</span>
        <input type="text" className="mono" autoComplete="off" spellCheck={false} value={id ?? idOf(title, taken)} onChange={(event) => setId(event.target.value)} />
      </label>
    </FormDialog>
  );
}

interface KindChoiceProps {
  kinds: Kind[];
  chosen: string;
  labelledBy: string;
  describedBy: string;
  onChoose: (kind: string) => void;
}

/** Letters typed within this time are one word. */
const WORD = 700;

/** All kinds are seen. Letters choose the one that has a word which begins so, as in a list of the browser. */
function KindChoice({ kinds, chosen, labelledBy, describedBy, onChoose }: KindChoiceProps) {
  const group = useRef<HTMLDivElement>(null);
  const typed = useRef({ text: "", at: 0 });
  const onKey = (event: React.KeyboardEvent) => {
    if (event.key.length > 1 || event.key === " " || event.ctrlKey || event.metaKey || event.altKey) return;
    const text = (event.timeStamp - typed.current.at < WORD ? typed.current.text : "") + event.key.toLowerCase();
    typed.current = { text, at: event.timeStamp };
    const found = choiceOf(kinds, chosen, text);
    if (!found) return;
    onChoose(found.kind);
    group.current?.querySelector<HTMLElement>(`[value="${CSS.escape(found.kind)}"]`)?.focus();
  };
  return (
    <div className="kinds" ref={group} role="radiogroup" aria-labelledby={labelledBy} aria-describedby={describedBy} onKeyDown={onKey}>
      {kinds.map((entry) => (
        <label key={entry.kind}>
          <input type="radio" name={labelledBy} value={entry.kind} checked={entry.kind === chosen} onChange={() => onChoose(entry.kind)} />
          <Icon name={iconOfKind(entry.kind)} size={14} />
          {entry.label}
        </label>
      ))}
    </div>
  );
}

/** Whether a step of this kind may have the part that it stands in done again: it reports, and the part leads on by conditions. */
const mayLeadBack = (definition: Definition, kind: Kind | undefined) => definition.palette.some((entry) => entry.conditions) && kind?.unplaced === "nowhere" && !kind.apart;

/** What the box around a step needs to know. */
export function WrapDialog({ name, kind, onSend, onClose }: { name: string; kind: Kind; onSend: (values: Record<string, unknown>) => Promise<ApiError | null>; onClose: () => void }) {
  const [asked, setAsked] = useState<Asked>({});
  return (
    <FormDialog title={`Wrap “${name}” in “${kind.label}”`} action="Wrap" onSend={() => onSend(valuesOf(askedOf(kind), asked))} onClose={onClose}>
      <AskedFields fields={askedOf(kind)} texts={asked} onTexts={setAsked} />
    </FormDialog>
  );
}

interface RenameProps {
  node: string;
  about: About | undefined;
  kind: Kind | undefined;
  onSend: Send;
  onClose: () => void;
}

/** What people call a step, and what the definition does. */
export function RenameDialog({ node, about, kind, onSend, onClose }: RenameProps) {
  const titled = about?.editable ? titleOf(kind) : undefined;
  const written = titled && typeof about?.values[titled.path] === "string" ? (about.values[titled.path] as string) : "";
  const [title, setTitle] = useState(written);
  const [to, setTo] = useState(about?.id ?? "");
  const rename = async () => {
    const operations: Operations = [];
    if (titled && title.trim() !== written) operations.push({ is: "set", node, field: titled.path, value: title.trim() || null });
    if (to.trim() !== about?.id) operations.push({ is: "rename", node, to: to.trim() });
    if (operations.length > 0) return onSend(operations);
    onClose();
    return null;
  };
  return (
    <FormDialog title={`Rename “${about?.name ?? ""}”`} action="Rename" ready={to.trim() !== ""} onSend={rename} onClose={onClose}>
      {titled && (
        <label className="field block">
          <span>{titled.label}, for people</span>
          <input type="text" autoComplete="off" value={title} placeholder={about?.id} onFocus={(event) => event.target.select()} onChange={(event) => setTitle(event.target.value)} />
        </label>
      )}
      <label className="field block">
        <span>Id. Whatever refers to it follows.</span>
        <input type="text" className="mono" autoComplete="off" spellCheck={false} value={to} onFocus={(event) => event.target.select()} onChange={(event) => setTo(event.target.value)} />
      </label>
    </FormDialog>
  );
}
