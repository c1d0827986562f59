import { createRoot } from "react-dom/client";
import { takeToken, watchTokens } from "./api/token";
import { App } from "./app";
import { startEvents } from "./events/share";
import { startTheme } from "./parts/theme";
import { startRoutes } from "./route";
import "./style/base.css";
import "./style/parts.css";
import "./style/graph.css";
import "./style/screens.css";
import "./style/edit.css";
import "./style/try.css";

takeToken();
watchTokens();
startTheme();
startRoutes();
startEvents();
createRoot(document.getElementById("root") as HTMLElement).render(<App />);
