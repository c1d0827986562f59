import { Elsewhere } from "../../passkey/elsewhere";
import { Icon } from "../../parts/icons";

interface Props {
  /** Whether it can only be answered in a terminal. */
  inTerminal: boolean;
  /** Why nothing can be answered here, if so. */
  blocked: string | null;
  /** How many passkeys are enrolled. */
  passkeys: number;
  /** Why this page cannot ask for a passkey, if so. */
  why: "elsewhere" | "unable" | null;
}

/** Says that only a person's own answer counts, and how a person gives it. */
export const PersonOnly = ({ inTerminal, blocked, passkeys, why }: Props) => (
  <div className="callout">
    <Icon name="person" />
    <p>
      Only a person's own answer counts here, and an agent could use this page, too:{" "}
      {inTerminal ? "answer in your terminal." : "your passkey confirms the answer."}
      {blocked === null && passkeys === 0 && (
        <>
          {" "}
          With a passkey you can answer here as well: <code>portolan people passkey</code> enrols one.
        </>
      )}
      {why === "unable" && " This browser has no passkeys (WebAuthn): in another one you can answer here as well."}
      {why === "elsewhere" && (
        <>
          {" "}
          <Elsewhere what="to answer with yours" />
        </>
      )}
    </p>
  </div>
);
