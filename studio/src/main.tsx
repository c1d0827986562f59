import { createRoot } from "react-dom/client";
import { setConnection } from "./api/connection";
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
  // Whatever is shown is loaded again once the server is there.
  setConnection("offline");
  resumeEvents();
});
startTheme();
startRoutes();
startEvents();
createRoot(document.getElementById("root") as HTMLElement).render(<App />);
