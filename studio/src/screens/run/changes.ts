/** A value that is to be another one in a fork, as it stands in the form. */
export interface Change {
  name: string;
  text: string;
}

/** What the changes say together, or what is wrong with each. */
export function readChanges(changes: Change[]): { set: Record<string, unknown> | null; problems: Record<number, string> } {
  const set: Record<string, unknown> = {};
  const problems: Record<number, string> = {};
  changes.forEach(({ name, text }, i) => {
    if (name.trim() === "") problems[i] = "Its name is missing.";
    else if (Object.hasOwn(set, name.trim())) problems[i] = "It is changed twice.";
    else if (text.trim() === "") problems[i] = "Its value is missing, as JSON.";
    else {
      try {
        set[name.trim()] = JSON.parse(text);
      } catch (error) {
        problems[i] = `This is not JSON yet: ${(error as Error).message}`;
      }
    }
  });
  return { set: Object.keys(problems).length === 0 ? set : null, problems };
}
