// Leads a workflow to its end over HTTP with the TypeScript SDK: node walk.mjs ADDRESS TOKEN. It prints what it ended with.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

const [address, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const client = new Client({ name: "typescript", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }));

async function call(name, given) {
  const answer = await client.callTool({ name, arguments: given });
  if (answer.isError) throw new Error(`${name}: ${JSON.stringify(answer.structuredContent)}`);
  return answer.structuredContent;
}

let now = await call("Init", { workflowType: "quick-task" });
const run = now.run;
while (now.state !== "ended") {
  if (now.actions.required.length === 0) now = await call("Current", { run });
  const [action] = now.actions.required;
  now = await call(action.tool, action.arguments);
}
const { prompts } = await client.listPrompts();
if (!prompts.some((prompt) => prompt.name === "start-quick-task")) throw new Error("no prompt to start it");
const read = await client.readResource({ uri: `portolan://runs/${run}` });
if (JSON.parse(read.contents[0].text).state !== "ended") throw new Error(read.contents[0].text);
console.log(now.terminal);
await client.close();
