// Reports a step whose check takes longer than a call, with the official package for tasks: node tasks.mjs ADDRESS TOKEN. It
// prints what the run ended with.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, resultFromTaskOutcome } from "@modelcontextprotocol/ext-tasks/client";

const [address, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}` };
const protocolVersion = "2026-07-28";
const clientInfo = { name: "tasks", version: "1" };
const clientCapabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const client = new Client(clientInfo, { capabilities: clientCapabilities, versionNegotiation: { mode: "auto" } });
await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit: { headers } }));

const methods = [];
/** Sends a request as it stands: the SDK's own client reads no tasks. */
async function rawDispatch(request, { context } = {}) {
  const { method, params = {} } = request;
  methods.push(method);
  const name = params.taskId ?? params.name;
  const sent = { ...headers, "content-type": "application/json", accept: "application/json, text/event-stream", "MCP-Protocol-Version": protocolVersion, "Mcp-Method": method, ...(name ? { "Mcp-Name": name } : {}), ...context?.headers };
  const response = await fetch(address, { method: "POST", headers: sent, body: JSON.stringify({ jsonrpc: "2.0", id: methods.length, ...request }) });
  const text = await response.text();
  const { result, error } = JSON.parse(text.startsWith("{") ? text : text.split("\n").findLast((line) => line.startsWith("data: {")).slice(6));
  return error ? { kind: "error", error } : { kind: "result", result };
}

const session = createTaskSessionFromClient(client, { endpointId: "portolan", rawDispatch, v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities } });
async function call(name, given) {
  const { outcome } = await (await session.callTool(name, given)).settle();
  const result = resultFromTaskOutcome(outcome);
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result.structuredContent)}`);
  return result.structuredContent;
}

let now = await call("Init", { workflowType: "slow" });
while (now.state !== "ended") {
  const [action] = now.actions.required;
  now = await call(action.tool, action.arguments);
}
if (!methods.includes("tasks/get")) throw new Error(`no task: ${methods}`);
console.log(now.terminal);
await session.close();
await client.close();
