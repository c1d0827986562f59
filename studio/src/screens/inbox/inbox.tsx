import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Project, Question } from "../../api/types";
import { useLive, useThrottled } from "../../events/use";
import { Failure, Loading, Notice } from "../../parts/notice";
import { QuestionCard } from "./question";

export function InboxScreen({ project }: { project: Project | null }) {
  const { data, error, reload } = useResource<{ questions: Question[] }>("inbox", (signal) => get("/inbox", signal));
  const again = useThrottled(reload, 300);
  useLive((events) => {
    if (events.some((event) => event.is === "record")) again();
  });

  const blocked = project?.onlyShows ?? null;

  return (
    <div className="page narrow">
      <h1>
        Inbox {data && data.questions.length > 0 && <span className="count">{data.questions.length}</span>}
      </h1>
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
            <QuestionCard key={`${question.run} ${question.branch ?? ""} ${question.step}`} question={question} blocked={blocked} onDone={reload} />
          ))}
        </ul>
      )}
    </div>
  );
}
