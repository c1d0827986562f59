import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icons";

export function KeptBanner({ onTake, onDrop }: { onTake: () => void; onDrop: () => void }) {
  return (
    <p className="banner" role="status">
      <Icon name="warning" />
      <span>This tab still has changes of yours that were never saved.</span>
      <button type="button" className="button small" onClick={onTake}>
        Take them up again
      </button>
      <button type="button" className="button small" onClick={onDrop}>
        Throw them away
      </button>
    </p>
  );
}

export function ChangedBanner({ onCompare }: { onCompare: () => void }) {
  return (
    <p className="banner" role="status">
      <Icon name="warning" />
      <span>
        <b>It was changed on disk</b> while you edit. Nothing of it is overwritten.
      </span>
      <button type="button" className="button small" onClick={onCompare}>
        Compare and choose
      </button>
    </p>
  );
}

/** Trying is of what is saved: whoever has changed it is told, and may save it first. */
export function TryDialog({ name, onStay, onSave, onTry }: { name: string; onStay: () => void; onSave: () => void; onTry: () => void }) {
  return (
    <Dialog title="Save before you try it?" onClose={onStay}>
      <p>“{name}” has changes that are not saved. The saved file is tried, not your changes; this tab keeps them, and offers them when you come back.</p>
      <div className="actions end">
        <button type="button" className="button" onClick={onStay}>
          Stay
        </button>
        <button type="button" className="button" onClick={onTry}>
          Try what is saved
        </button>
        <button type="button" className="button primary" autoFocus onClick={onSave}>
          Save, then try…
        </button>
      </div>
    </Dialog>
  );
}

export function LeaveDialog({ name, onStay, onDiscard, onLeave }: { name: string; onStay: () => void; onDiscard: () => void; onLeave: () => void }) {
  return (
    <Dialog title="Leave without saving?" onClose={onStay}>
      <p>“{name}” has changes that are not saved. This tab keeps them until it is closed, and offers them when you come back.</p>
      <div className="actions end">
        <button type="button" className="button" autoFocus onClick={onStay}>
          Stay
        </button>
        <button type="button" className="button" onClick={onDiscard}>
          Throw them away
        </button>
        <button type="button" className="button primary" onClick={onLeave}>
          Leave
        </button>
      </div>
    </Dialog>
  );
}
