import { Store } from "./store";

export type Theme = "auto" | "light" | "dark";

const KEY = "portolan-theme";
export const theme = new Store<Theme>("auto");

function read(): Theme {
  try {
    const kept = localStorage.getItem(KEY);
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto";
  }
}

function apply(chosen: Theme): void {
  if (chosen === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  theme.set(chosen);
}

/** Whether the system is dark: what paints by itself has to paint again when that changes. */
export const systemDark = new Store(false);

export function startTheme(): void {
  apply(read());
  const dark = matchMedia("(prefers-color-scheme: dark)");
  systemDark.set(dark.matches);
  dark.addEventListener("change", () => systemDark.set(dark.matches));
}

export function nextTheme(): void {
  const order: Theme[] = ["auto", "light", "dark"];
  const chosen = order[(order.indexOf(theme.get()) + 1) % order.length] as Theme;
  try {
    if (chosen === "auto") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, chosen);
  } catch {
    // Without storage the choice lasts as long as the page.
  }
  apply(chosen);
}
