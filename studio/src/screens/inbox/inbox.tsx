import { useRef, useState } from "react";
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Project, Question } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { Icon, type IconName } from "../../parts/icons";
import { Failure, Loading, Notice } from "../../parts/notice";
import { link } from "../../route";
import { QuestionCard } from "./question";

/** `wanted` is the run whose question is looked for. */
export function InboxScreen({ project, wanted }: { project: Project | null; wanted: string | null }) {
  const { data, error, reload } = useResource<{ questions: Question[] }>("inbox", (signal) => get("/inbox", signal));
  const again = useThrottled(reload, 300);
  useLive((events) => {
    if (events.some((event) => event.is === "record")) again();
  });

  const blocked = project?.onlyShows ?? (project?.readOnly ? "This studio was started with --read-only." : null);
  const [said, setSaid] = useState<{ icon: IconName; words: string; run: string } | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  const tell = (icon: IconName, words: string, run: string) => {
    setSaid({ icon, words, run });
    reload();
  };

  /** The question is gone afterwards, with the button that had the focus. */
  const done = (words: string, run: string) => {
    tell("done", words, run);
    heading.current?.focus();
  };

  return (
    <div className="page narrow">
      <h1 ref={heading} tabIndex={-1}>
        Inbox {data && data.questions.length > 0 && <span className="count">{data.questions.length}</span>}
      </h1>
      <div role="status">
        {said !== null && (
          <p className={`saved-line ${said.icon}`}>
            <Icon name={said.icon} />
            <span>
              {said.words} <a href={link.run(said.run)}>Show the run</a>
            </span>
          </p>
        )}
      </div>
      {error && !data ? (
        <Failure error={error} retry={reload} />
      ) : !data ? (
        <Loading what="the inbox" />
      ) : data.questions.length === 0 ? (
        <Notice icon="inbox" title="Nobody waits for you">
          <p>A question appears here as soon as a run needs a person. The page need not be loaded again.</p>
        </Notice>
      ) : (
        <ul className="questions">
          {data.questions.map((question) => (
            <QuestionCard key={`${question.run} ${question.branch ?? ""} ${question.step}`} question={question} wanted={question.run === wanted} blocked={blocked} passkeys={project?.passkeys ?? 0} onDone={(words) => done(words, question.run)} onMoved={(words) => tell("warning", words, question.run)} />
          ))}
        </ul>
      )}
    </div>
  );
}
