// Reads charts with Mermaid's own parser and compares what it understood with what was meant.
//
//     PORTOLAN_CHARTS=/tmp/charts cargo test -p portolan-core charts
//     cd crates/portolan-core/tests/mermaid && npm ci && node check.mjs /tmp/charts
//
// For each NAME.mmd in the directory there is a NAME.json: `nodes`, the text on each node, the legend among them; `edges`,
// for each edge the indexes of the nodes it joins and its text, both in the order drawn; and `described`, what is read out.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { JSDOM } from "jsdom";

globalThis.window = new JSDOM("").window;
globalThis.document = window.document;
const { default: mermaid } = await import("mermaid");
mermaid.initialize({ suppressErrorRendering: true, maxEdges: 50_000, maxTextSize: 50_000_000 });

// While it parses, Mermaid holds entity codes in this disguise.
const shown = (text) => {
  const element = document.createElement("p");
  element.innerHTML = (text ?? "").replace(/ﬂ°°/g, "&#").replace(/ﬂ°/g, "&").replace(/¶ß/g, ";");
  return element.textContent;
};

const understood = async (chart) => {
  const { db } = await mermaid.mermaidAPI.getDiagramFromText(chart);
  const vertices = [...db.getVertices().values()];
  const index = (id) => vertices.findIndex((vertex) => vertex.id === id);
  return {
    nodes: vertices.map((vertex) => shown(vertex.text)),
    edges: db.getEdges().map((edge) => [index(edge.start), index(edge.end), shown(edge.text)]),
    described: shown(db.getAccDescription()),
  };
};

const directory = process.argv[2];
const charts = readdirSync(directory).filter((file) => file.endsWith(".mmd"));
let wrong = charts.length === 0 ? 1 : 0;
for (const file of charts) {
  const meant = JSON.parse(readFileSync(join(directory, file.replace(/mmd$/, "json")), "utf8"));
  const got = await understood(readFileSync(join(directory, file), "utf8")).catch((error) => error.message);
  if (!isDeepStrictEqual(got, meant)) {
    wrong += 1;
    console.error(`${file}: meant ${JSON.stringify(meant)}\n  but read ${JSON.stringify(got)}`);
  }
}
console.log(`${charts.length} charts read, ${wrong} wrong`);
process.exitCode = wrong === 0 ? 0 : 1;
