import { Suspense, useEffect, useRef, useState } from "react";
import { ApiError, get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Inbox, Project } from "../../api/types";
import { CallCard, RequestCard } from "../../code/later";
import { useLive, useThrottled } from "../../events/use";
import { Icon, type IconName } from "../../parts/icons";
import { Failure, InlineFailure, Loading, Notice } from "../../parts/notice";
import { link } from "../../route";
import { QuestionCard } from "./question";

/** `wanted` is the run whose question is looked for. */
export function InboxScreen({ project, wanted }: { project: Project | null; wanted: string | null }) {
  const { data, error, reload } = useResource<Inbox>("inbox", (signal) => get("/inbox", signal));
  const again = useThrottled(reload, 300);
  useLive((events) => {
    if (events.some(({ is }) => is === "record" || is === "calls" || is === "requests")) again();
  });

  const blocked = project?.onlyShows ?? null;
  const [said, setSaid] = useState<{ icon: IconName; words: string; run: string | null } | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  const tell = (icon: IconName, words: string, run: string | null) => {
    setSaid({ icon, words, run });
    reload();
  };

  /** The question is gone afterwards, with the button that had the focus. */
  const done = (words: string, run: string | null) => {
    tell("done", words, run);
    heading.current?.focus();
  };

  // A question that was answered in another place would vanish without a word, under the message about an earlier one.
  const runs = useRef<string[]>([]);
  useEffect(() => {
    if (!data) return;
    const now = data.questions.map(({ run }) => run);
    const gone = runs.current.filter((run) => !now.includes(run));
    runs.current = now;
    setSaid((said) => (gone[0] === undefined || said?.run === gone[0] ? said : { icon: "done", words: `${gone[0]} no longer waits: it was answered or ended elsewhere.`, run: gone[0] }));
  }, [data]);

  const waiting = data ? data.questions.length + data.calls.length + data.requests.length : 0;
  const passkeys = project?.passkeys ?? 0;

  return (
    <div className="page narrow">
      <h1 ref={heading} tabIndex={-1}>
        Inbox {waiting > 0 && <span className="count">{waiting}</span>}
      </h1>
      <div role="status">
        {said !== null && (
          <p className={`saved-line ${said.icon}`}>
            <Icon name={said.icon} />
            <span>
              {said.words} {said.run !== null && <a href={link.run(said.run)}>Show the run</a>}
            </span>
          </p>
        )}
      </div>
      {data?.unread && <InlineFailure error={new ApiError(500, data.unread.code, data.unread.message, data.unread.help)} />}
      {error && !data ? (
        <Failure error={error} retry={reload} />
      ) : !data ? (
        <Loading what="the inbox" />
      ) : waiting === 0 ? (
        <Notice icon="inbox" title="Nobody waits for you">
          <p>A question appears here as soon as a run or a call needs a person, without loading the page again.</p>
        </Notice>
      ) : (
        <ul className="questions">
          {data.questions.map((question) => (
            <QuestionCard key={`${question.run} ${question.branch ?? ""} ${question.step}`} question={question} wanted={question.run === wanted} blocked={blocked} passkeys={passkeys} onDone={(words) => done(words, question.run)} onMoved={(words) => tell("warning", words, question.run)} />
          ))}
          {data.calls.length + data.requests.length > 0 && (
            <Suspense fallback={<li><Loading what="the calls and requests" /></li>}>
              {data.calls.map((call) => (
                <CallCard key={call.token} call={call} blocked={blocked} passkeys={passkeys} onDone={(words) => done(words, null)} onMoved={(words) => tell("warning", words, null)} />
              ))}
              {data.requests.map((request) => (
                <RequestCard key={request.command} request={request} />
              ))}
            </Suspense>
          )}
        </ul>
      )}
    </div>
  );
}
