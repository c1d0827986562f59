import { useMemo, useState } from "react";
import type { Document, FileText } from "../../document/document";
import { Dialog } from "../../parts/dialog";
import { mergeFile, mergedFile, type Block, type Side } from "../../text/merge";

export interface Current {
  revision: string;
  files: { name: string; text: string | null }[];
}

interface Props {
  document: Document;
  current: Current;
  onMerged: (files: FileText[]) => void;
  onClose: () => void;
}

type Choices = Record<string, Side | undefined>;

/**
 * What was there when editing began, what is on disk now, and what is here. Nothing is written by
 * this: the chosen text goes into the editor, and is saved like any other.
 */
export function ConflictDialog({ document, current, onMerged, onClose }: Props) {
  const [choices, setChoices] = useState<Choices>({});
  const files = useMemo(() => {
    const { texts, base } = document.state.get();
    const known = document.names.map(({ name }, i) => ({ name, base: base[i] ?? null, mine: texts[i] ?? null }));
    const others = current.files.filter(({ name }) => !known.some((file) => file.name === name));
    return [...known, ...others.map(({ name }) => ({ name, base: null, mine: null }))].map((file) => {
      const all = { ...file, theirs: current.files.find(({ name }) => name === file.name)?.text ?? null };
      return { ...all, blocks: mergeFile(all) };
    });
  }, [document, current]);

  const merged = files.map((file, f) => mergedFile(file, file.blocks, file.blocks.map((_, b) => choices[`${f} ${b}`])));
  const open = files.reduce((sum, { blocks }, f) => sum + blocks.filter((block, b) => isConflict(block) && !choices[`${f} ${b}`]).length, 0);
  const chooseAll = (f: number, side: Side) =>
    setChoices((now) => ({ ...now, ...Object.fromEntries(files[f]?.blocks.flatMap((block, b) => (block.is === "changed" ? [[`${f} ${b}`, side]] : [])) ?? []) }));

  return (
    <Dialog title="It was changed on disk meanwhile" onClose={onClose} wide>
      <p>
        Somebody else wrote it after you began. Nothing of theirs is overwritten. Choose what goes into your text; you save it afterwards.
      </p>
      <div className="differences">
        {files.map(({ name, base, mine, theirs, blocks }, f) =>
          blocks.every((block) => block.is === "same") ? null : (
            <section key={name}>
              <div className="merge-head">
                <h3>
                  <code>{name}</code> <span className="dim">{said(base, mine, theirs)}</span>
                </h3>
                <button type="button" className="button small" onClick={() => chooseAll(f, "mine")}>
                  Take all of mine
                </button>
                <button type="button" className="button small" onClick={() => chooseAll(f, "theirs")}>
                  Take all of theirs
                </button>
              </div>
              <div className="merge">
                {blocks.map((block, b) =>
                  block.is === "same" ? (
                    <Same key={b} lines={block.lines} />
                  ) : (
                    <Changed key={b} block={block} choice={choices[`${f} ${b}`]} name={`${name}, place ${b + 1}`} onChoose={(side) => setChoices((now) => ({ ...now, [`${f} ${b}`]: side }))} />
                  ),
                )}
              </div>
            </section>
          ),
        )}
      </div>
      <div className="actions end">
        <p className="dim" role="status">
          {open > 0 ? `${open} to choose` : "Everything is chosen"}
        </p>
        <button type="button" className="button" onClick={onClose}>
          Go on editing
        </button>
        <button type="button" className="button primary" disabled={merged.some((text) => text === undefined)} onClick={() => onMerged(merged.map((text, f) => ({ name: files[f]?.name ?? "", text: text ?? null })))}>
          Use this
        </button>
      </div>
    </Dialog>
  );
}

/** Where the file itself comes or goes, and not only lines of it. */
function said(base: string | null, mine: string | null, theirs: string | null): string {
  if (base !== null) return [mine === null && "removed by you", theirs === null && "removed on disk"].filter(Boolean).join(", ");
  return [mine !== null && "made by you", theirs !== null && "made on disk"].filter(Boolean).join(", ");
}

const isConflict = (block: Block) => block.is === "changed" && block.by === "both";

function Same({ lines }: { lines: string[] }) {
  if (lines.length <= 6) return <pre className="merge-same">{lines.join("\n")}</pre>;
  return (
    <pre className="merge-same">
      {lines.slice(0, 2).join("\n")}
      {"\n"}
      <span className="dim">… {lines.length - 4} lines that nobody changed</span>
      {"\n"}
      {lines.slice(-2).join("\n")}
    </pre>
  );
}

type ChangedBlock = Extract<Block, { is: "changed" }>;

function Changed({ block, choice, name, onChoose }: { block: ChangedBlock; choice: Side | undefined; name: string; onChoose: (side: Side) => void }) {
  const taken = choice ?? (block.by === "both" ? null : block.by);
  const side = (is: Side, title: string) => (
    <label className={`merge-side${taken === is ? " taken" : ""}`}>
      <span className="merge-title">
        <input type="radio" name={name} checked={taken === is} onChange={() => onChoose(is)} />
        {title}
      </span>
      <pre>{block[is].join("\n") || <span className="dim">(nothing)</span>}</pre>
    </label>
  );
  return (
    <fieldset className={`merge-changed${taken === null ? " open" : ""}`}>
      <legend className="unseen">{name}</legend>
      {side("mine", block.by === "theirs" ? "Mine: not changed" : "Mine")}
      <div className="merge-side base">
        <span className="merge-title">When editing began</span>
        <pre>{block.base.join("\n") || <span className="dim">(nothing)</span>}</pre>
      </div>
      {side("theirs", block.by === "mine" ? "On disk: not changed" : "On disk now")}
    </fieldset>
  );
}
