import type { ReactNode } from "react";
import type { ApiError } from "../api/client";
import { Coded } from "./bits";
import { Icon, type IconName } from "./icons";

/** A state of a screen without its content: what is the case, and what one can do. */
export function Notice({ icon, title, children, actions, tone = "plain", alone }: { icon: IconName; title: string; children?: ReactNode; actions?: ReactNode; tone?: "plain" | "bad"; alone?: boolean }) {
  return (
    <div className={`notice ${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={icon} size={22} />
      {alone ? <h1>{title}</h1> : <h2>{title}</h2>}
      {children && <div className="notice-text">{children}</div>}
      {actions && <div className="actions">{actions}</div>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <div className="loading" role="status">
      <span className="bars" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      Loading {what}
    </div>
  );
}

const TITLES: Record<number, [IconName, string]> = {
  0: ["offline", "The server does not answer"],
  401: ["lock", "This address is not valid any more"],
  403: ["lock", "Not allowed here"],
  404: ["search", "Nothing is kept under this name"],
  409: ["warning", "It changed meanwhile"],
  413: ["warning", "Too large to show"],
  503: ["offline", "The server is ending"],
};

/** `alone`: nothing else is on the screen, so the title is the screen's. */
export function Failure({ error, retry, alone }: { error: ApiError; retry?: () => void; alone?: boolean }) {
  const [icon, title] = TITLES[error.status] ?? (["error", "The server refused this"] as const);
  return (
    <Notice
      icon={icon}
      title={title}
      tone="bad"
      alone={alone}
      actions={
        retry && (
          <button type="button" className="button" onClick={retry}>
            Try again
          </button>
        )
      }
    >
      <p>
        <Coded text={error.message} />
      </p>
      {help(error) && (
        <p>
          <Coded text={help(error) ?? ""} />
        </p>
      )}
      <p className="dim">{error.code}</p>
    </Notice>
  );
}

function help(error: ApiError): string | null {
  if (error.help) return error.help;
  if (error.status === 401) return "Each start of the studio has an address of its own. Open the one that `portolan studio` printed last.";
  if (error.status === 413) return "Use `portolan runs show` or `portolan show --format json` in a terminal.";
  return null;
}

/** An error beside a form, without taking its place. */
export function InlineFailure({ error }: { error: ApiError }) {
  return (
    <p className="inline-failure" role="alert">
      <Icon name="error" />
      <span>
        <Coded text={error.message} />
        {help(error) && (
          <span className="failure-help">
            <Coded text={help(error) ?? ""} />
          </span>
        )}
      </span>
    </p>
  );
}
