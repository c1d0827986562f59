import { createRoot } from "react-dom/client";
import { connection, setConnection } from "./api/connection";
import { takeToken, watchTokens } from "./api/token";
import { App } from "./app";
import { resumeEvents, startEvents } from "./events/share";
import { startTheme } from "./parts/theme";
import { startRoutes } from "./route";
import "./style/base.css";
import "./style/parts.css";
import "./style/graph.css";
import "./style/screens.css";
import "./style/edit.css";
import "./style/try.css";

takeToken();
watchTokens(() => {
  // A stream that is read goes on; one that was refused begins again.
  if (connection.get().state !== "refused") return;
  // Whatever is shown is loaded again once the server is there.
  setConnection("offline");
  resumeEvents();
});
startTheme();
startRoutes();
startEvents();
createRoot(document.getElementById("root") as HTMLElement).render(<App />);
