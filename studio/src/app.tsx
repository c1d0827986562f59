import { Suspense, useEffect, useRef, useState } from "react";
import { get } from "./api/client";
import { connection } from "./api/connection";
import { useResource } from "./api/resource";
import type { Project } from "./api/types";
import { CompareScreen, KeysDialog, PasskeyScreen, TryScreen } from "./code/later";
import { useLive, useThrottled } from "./events/use";
import { Boundary } from "./parts/boundary";
import { Banner } from "./parts/banner";
import { useGlobalKeys } from "./parts/keys";
import { Loading, Notice } from "./parts/notice";
import { useStore } from "./parts/store";
import { TopBar } from "./parts/top-bar";
import { useRoute, type Route } from "./route";
import { DefinitionScreen } from "./screens/definition/definition";
import { HomeScreen } from "./screens/home/home";
import { InboxScreen } from "./screens/inbox/inbox";
import { ProjectScreen } from "./screens/project/project";
import { RunScreen } from "./screens/run/run";

export function App() {
  const route = useRoute();
  const [help, setHelp] = useState(false);
  const project = useResource<Project>("project", (signal) => get("/project", signal));
  const main = useRef<HTMLElement>(null);
  const { state } = useStore(connection);
  useGlobalKeys(() => setHelp(true));

  // A waiting run may add or remove a question, as a call at the gate does; the inbox is counted by the server.
  const recount = useThrottled(project.reload, 500);
  useLive((events) => {
    if (events.some(({ is }) => is === "record" || is === "calls" || is === "requests")) recount();
  });

  const place = placeOf(route);
  useEffect(() => {
    document.title = `${titleOf(route)} · Portolan`;
    if (document.activeElement === document.body) main.current?.focus({ preventScroll: true });
  }, [place]);

  return (
    <>
      <a className="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        main.current?.focus();
      }}>
        Skip to the content
      </a>
      <TopBar route={route} project={project.data} onHelp={() => setHelp(true)} />
      {/* The server that enrols a passkey ends by itself: the screen tells what that means. */}
      {route.screen !== "passkey" && <Banner onlyShows={project.data?.observes ? project.data.onlyShows : null} />}
      <main id="main" ref={main} tabIndex={-1} key={place}>
        {state === "refused" && !project.data && route.screen !== "passkey" ? <Refused /> : (
          <Boundary>
            <Screen route={route} project={project.data} />
          </Boundary>
        )}
      </main>
      {help && (
        <Suspense fallback={null}>
          <KeysDialog onClose={() => setHelp(false)} />
        </Suspense>
      )}
    </>
  );
}

function Screen({ route, project }: { route: Route; project: Project | null }) {
  switch (route.screen) {
    case "home":
      return <HomeScreen project={project} />;
    case "definition":
      return <DefinitionScreen route={route} onlyShows={project?.onlyShows ?? null} />;
    case "try":
      return (
        <Suspense fallback={<Loading what="the form" />}>
          <TryScreen route={route} project={project} />
        </Suspense>
      );
    case "run":
      return <RunScreen route={route} readOnly={project === null || project.onlyShows !== null} />;
    case "compare":
      return (
        <Suspense fallback={<Loading what="the comparison" />}>
          <CompareScreen route={route} />
        </Suspense>
      );
    case "inbox":
      return <InboxScreen project={project} wanted={route.run} />;
    case "project":
      return <ProjectScreen />;
    case "passkey":
      return (
        <Suspense fallback={<Loading what="what enrols a passkey" />}>
          <PasskeyScreen />
        </Suspense>
      );
    case "unknown":
      return (
        <Notice alone icon="search" title="No screen has this address" actions={<a className="button" href="#/">Go home</a>}>
          <p>{route.address}</p>
        </Notice>
      );
  }
}

function Refused() {
  return (
    <Notice alone icon="lock" title="Open the address that the terminal shows" tone="bad">
      <p>
        Each start of the studio has an address of its own, with a secret in it. Copy the one that <code>portolan studio</code> printed last.
      </p>
    </Notice>
  );
}

function placeOf(route: Route): string {
  if (route.screen === "definition") return `definition ${route.id}`;
  if (route.screen === "try") return `try ${route.id} ${route.from ?? ""}`;
  if (route.screen === "run") return `run ${route.run}`;
  return route.screen;
}

function titleOf(route: Route): string {
  if (route.screen === "definition") return route.id;
  if (route.screen === "try") return `Try ${route.id}`;
  if (route.screen === "run") return route.run;
  return { home: "Home", compare: "Compare", inbox: "Inbox", project: "Project", passkey: "Passkey", unknown: "Not found" }[route.screen];
}
