import { useRef, useSyncExternalStore } from "react";

/** A value with listeners: what several components share without a common parent. */
export class Store<T> {
  private listeners = new Set<() => void>();
  constructor(private value: T) {}

  get = (): T => this.value;

  set = (value: T): void => {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of [...this.listeners]) listener();
  };

  update(change: (value: T) => T): void {
    this.set(change(this.value));
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}

/** Only a change of the selected part renders again: a thousand nodes listen to one store. */
export function useSelected<T, S>(store: Store<T>, select: (value: T) => S): S {
  const latest = useRef(select);
  latest.current = select;
  return useSyncExternalStore(store.subscribe, () => latest.current(store.get()));
}
