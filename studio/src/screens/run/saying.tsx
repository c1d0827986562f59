import { useEffect, useState } from "react";
import { useLive } from "../../events/use";

/** The most that is shown of it: the rest stands in its messages once it is whole. */
const MOST = 20_000;

/** What the model that works on a state is saying now, until its answer is kept. */
export function Saying({ run, id }: { run: string; id: string }) {
  const [text, setText] = useState("");
  useEffect(() => setText(""), [run, id]);
  // Models are heard by the name of their state, wherever it runs.
  const name = id.slice(id.lastIndexOf("/") + 1);
  useLive((events) =>
    setText((text) =>
      events.reduce((now, event) => {
        if (event.is === "said" && event.said.run === run && event.said.node === name) return (now + event.said.text).slice(-MOST);
        return event.is === "record" && event.record.run === run ? "" : now;
      }, text),
    ),
  );
  if (text === "") return null;
  return (
    <section className="saying" aria-label="What the model says now">
      <h3>The model says</h3>
      <p>{text}</p>
    </section>
  );
}
