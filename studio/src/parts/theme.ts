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

export const startTheme = () => apply(read());

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
