import { useSyncExternalStore } from "react";

/** At 200 % zoom, or in a small window, the panes stand below each other and the page scrolls; `screens.css` says the same. */
const query = matchMedia("(max-width: 820px)");

const subscribe = (listener: () => void) => {
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
};

export const useNarrow = () => useSyncExternalStore(subscribe, () => query.matches);
