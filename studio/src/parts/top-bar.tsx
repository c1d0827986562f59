import { connection } from "../api/connection";
import type { Project } from "../api/types";
import { link, type Route } from "../route";
import { Icon, type IconName } from "./icons";
import { useStore } from "./store";
import { nextTheme, theme } from "./theme";

const SCREENS: [Route["screen"], string, () => string, IconName][] = [
  ["home", "Home", link.home, "home"],
  ["inbox", "Inbox", () => link.inbox(), "inbox"],
  ["project", "Project", link.project, "folder"],
];

const LINKS: Record<string, [IconName, string]> = {
  connecting: ["live", "Connecting"],
  live: ["live", "Live"],
  offline: ["offline", "Offline"],
  refused: ["lock", "Refused"],
};

export function TopBar({ route, project, onHelp }: { route: Route; project: Project | null; onHelp: () => void }) {
  const { state } = useStore(connection);
  const look = useStore(theme);
  // The server that enrols a passkey does nothing else, and ends by itself.
  const alone = route.screen === "passkey";
  const [icon, word] = LINKS[state] as [IconName, string];
  return (
    <header className="top-bar">
      <a className="brand" href={link.home()} title="Home">
        <svg width="20" height="20" viewBox="0 0 24 24" aria-hidden="true">
          <rect width="24" height="24" rx="6" className="brand-ground" />
          <path d="M12 3.5 13.9 10.1 20.5 12 13.9 13.9 12 20.5 10.1 13.9 3.5 12 10.1 10.1Z" fill="#fff" />
        </svg>
        <span>{project?.name ?? "Portolan"}</span>
      </a>
      {!alone && (
        <nav aria-label="Screens">
          {SCREENS.map(([screen, name, address, glyph]) => (
            <a key={screen} href={address()} title={name} aria-current={route.screen === screen ? "page" : undefined}>
              <Icon name={glyph} />
              <span>{name}</span>
              {screen === "inbox" && project !== null && project.inbox > 0 && (
                <span className="count hot" aria-label={`${project.inbox} open`}>
                  {project.inbox}
                </span>
              )}
            </a>
          ))}
        </nav>
      )}
      <div className="top-end">
        {!alone && project?.readOnly && (
          <span className="chip" title="The server was started with --read-only">
            <Icon name="lock" size={14} />
            read-only
          </span>
        )}
        {!alone && (
          <span className={`link-state ${state}`} role="status">
            <Icon name={icon} size={14} />
            {word}
          </span>
        )}
        <button type="button" className="icon-button" onClick={nextTheme} aria-label={`Colours: ${look}. Change`} title={`Colours: ${look}`}>
          <Icon name={look === "light" ? "sun" : look === "dark" ? "moon" : "auto"} />
        </button>
        <button type="button" className="icon-button" onClick={onHelp} aria-label="Show the keys" title="Show the keys (?)">
          <Icon name="help" />
        </button>
      </div>
    </header>
  );
}
