import { Age } from "../../parts/bits";
import { Icon } from "../../parts/icons";

interface Props {
  /** The id of the heading, by which the card is called. */
  id: string;
  title: React.ReactNode;
  /** Since when it waits, if that is known. */
  since?: string;
  /** Who asks, and what for. */
  children: React.ReactNode;
}

/** The head of what waits for a person. */
export const CardHead = ({ id, title, since, children }: Props) => (
  <header>
    <span className="octagon" aria-hidden="true">
      <Icon name="person" />
    </span>
    <div>
      <h2 id={id}>{title}</h2>
      <p className="dim">
        {children}
        {since !== undefined && (
          <>
            {" · "}
            <Age since={since} words={(age) => (age === "now" ? "asked just now" : `asked ${age} ago`)} />
          </>
        )}
      </p>
    </div>
  </header>
);
