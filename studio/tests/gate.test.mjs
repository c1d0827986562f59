// Calls that wait at `portolan gate`, with a real gate and the real server: a passkey decides about one, and once.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { atOwnAddress } from "./front.mjs";
import { authenticator, enrol, inTerminal } from "./passkeys.mjs";
import { Client } from "./project.mjs";
import { APART, inPage, picture, prepare, project, studio } from "./suite.mjs";

const TOOL = "<b>pay</b>";
const SERVER = `
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "bank", "version": "1"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "${TOOL}", "description": "Pays.", "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "paid " + json.dumps(message["params"]["arguments"])}]}
    else:
        result = {}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`;
const GUARD = `guards:
  - id: payments
    tools: ["mcp:bank/*"]
    when: arguments.amount > 100
    decision: ask
    reason: a person confirms payments of more than 100
`;

prepare((project) => {
  project.write("bank.py", SERVER);
  project.write("servers.json", JSON.stringify({ mcpServers: { bank: { command: "python3", args: ["bank.py"] } } }));
  project.write(".portolan/plugins.yaml", GUARD);
  project.says("trust", "servers.json");
});

const at = (route, base = studio.base) => `${base}#${route}&token=${studio.token}`;

/** A client of a gate, and what it is answered. */
async function gate() {
  const client = await new Client(project, ["gate", "--mcp", "servers.json", "--toolset", "none"]).begin();
  // Clients know a tool by a name of letters, digits and few signs.
  const listed = await client.request("tools/list", {});
  const name = listed.result.tools[0].name;
  const pays = async (args) => {
    const { result } = await client.request("tools/call", { name, arguments: args });
    return { refused: result.isError === true, text: result.content[0].text };
  };
  return {
    pays,
    /** Makes a call that waits for a person; returns its token. */
    async parks(args) {
      const { refused, text } = await pays(args);
      assert.ok(refused, text);
      const token = /portolan gate allow (q\w{12})/.exec(text)?.[1];
      assert.ok(token, text);
      return token;
    },
    end: () => client.end(),
  };
}

const isWaiting = async (token) => (await studio.ask("/inbox")).calls.some((call) => call.token === token);
const cardOf = (page, words) => page.locator(".question", { hasText: words });

/** Runs a test with a gate of its own. */
const atGate = (name, run) =>
  inPage(name, async (page, complaints) => {
    await atOwnAddress(page.context());
    const client = await gate();
    try {
      await run(page, client, complaints);
    } finally {
      client.end();
    }
  }, APART);

atGate("without a passkey there are only the commands", async (page, client, complaints) => {
  const token = await client.parks({ amount: 101 });
  await page.goto(at("/inbox"));
  const card = cardOf(page, '"amount": 101');
  await card.waitFor();
  assert.match(await card.textContent(), /answer in your terminal.*portolan people passkey/s);
  const commands = (await card.locator(".command").allTextContents()).map((command) => command.trim());
  assert.deepEqual(commands, ["allow", "refuse"].map((word) => `portolan gate ${word} ${token} --project ${project.path}`));
  assert.equal(await card.getByRole("button", { name: "Allow once" }).count(), 0);
  await soundIn(page, complaints, "no passkey");
  // It is decided in the terminal, and goes without being loaded again.
  inTerminal("gate", "refuse", token);
  await card.waitFor({ state: "detached" });
});

atGate("a call is allowed with a passkey, passes once, and the next one does not", async (page, client, complaints) => {
  const device = await authenticator(page);
  await enrol(page, device);
  await page.goto(at("/inbox"));
  await page.getByText("Nobody waits for you").waitFor();
  // It appears by itself.
  const pay = { amount: 500, note: "<img src=x onerror=alert(1)> \u202eevil\u200b" };
  const token = await client.parks(pay);
  const card = cardOf(page, '"amount": 500');
  await card.waitFor();
  await page.getByRole("navigation").getByLabel("1 open").waitFor();
  assert.equal(await card.getByRole("heading").textContent(), TOOL, "a name that is markup stays text");
  assert.equal(await card.locator("pre").textContent(), '{\n  "amount": 500,\n  "note": "<img src=x onerror=alert(1)> \\u{202e}evil\\u{200b}"\n}');
  assert.match(await card.textContent(), /pilot wants to call this tool of bank.*a person confirms payments of more than 100/s);
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    await soundIn(page, complaints, `a call: ${colorScheme}`);
  }
  await picture(page, "gate-call");

  // By keyboard.
  const allow = card.getByRole("button", { name: "Allow once" });
  await allow.focus();
  await page.keyboard.press("Enter");
  const confirm = card.getByRole("button", { name: "Confirm with a passkey" });
  await page.waitForFunction(() => document.activeElement.textContent === "Confirm with a passkey");
  const told = await card.getByRole("group", { name: "Confirm the decision" }).textContent();
  for (const word of ["Allow once", `${TOOL} of bank`, "pilot"]) assert.ok(told.includes(word), told);
  await soundIn(page, complaints, "confirming");
  await picture(page, "gate-confirm");
  // Back, and the focus is where it was.
  await card.getByRole("button", { name: "Back" }).click();
  await page.waitForFunction(() => document.activeElement.value === "allow");
  await page.keyboard.press("Enter");
  // The device is not sure of the person: nothing is decided.
  await device.isPerson(false);
  await confirm.click();
  await card.getByRole("alert").filter({ hasText: "Nothing was confirmed" }).waitFor();
  assert.ok(await isWaiting(token));
  await device.isPerson(true);

  const sent = page.waitForRequest((request) => request.url().endsWith(`/inbox/calls/${token}/answer`));
  await confirm.click();
  const decision = (await sent).postDataJSON();
  await page.getByRole("status").filter({ hasText: `Allowed once: ${TOOL}` }).waitFor();
  await card.waitFor({ state: "detached" });
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "H1");
  await soundIn(page, complaints, "allowed");

  // What was signed is good for nothing else.
  const other = await client.parks({ amount: 501 });
  assert.equal((await studio.post(`/inbox/calls/${token}/answer`, decision)).error.code, "unknown_token");
  const { digest } = (await studio.ask("/inbox")).calls.find((call) => call.token === other);
  assert.equal((await studio.post(`/inbox/calls/${other}/answer`, { ...decision, digest })).error.code, "unknown_challenge");

  const done = await client.pays(pay);
  assert.deepEqual([done.refused, done.text.startsWith("paid ")], [false, true], done.text);
  assert.notEqual(await client.parks(pay), token, "it passed once");
  await device.keep();
});

atGate("a call is refused, and one that was decided in a terminal meanwhile is not decided again", async (page, client) => {
  const device = await authenticator(page);
  const refused = await client.parks({ amount: 601 });
  const late = await client.parks({ amount: 602 });
  await page.goto(at("/inbox"));
  const card = cardOf(page, '"amount": 601');
  await card.getByRole("button", { name: "Refuse" }).click();
  await card.getByRole("button", { name: "Confirm with a passkey" }).click();
  await page.getByRole("status").filter({ hasText: "Refused: pilot" }).waitFor();
  assert.equal(await isWaiting(refused), false);
  assert.match((await client.pays({ amount: 601 })).text, /has refused this call/);

  const other = cardOf(page, '"amount": 602');
  await other.getByRole("button", { name: "Allow once" }).click();
  await page.route("**/challenge", async (route) => {
    inTerminal("gate", "refuse", late);
    await route.continue();
  });
  await other.getByRole("button", { name: "Confirm with a passkey" }).click();
  await page.getByRole("status").filter({ hasText: "was decided meanwhile" }).waitFor();
  await other.waitFor({ state: "detached" });
  assert.match((await client.pays({ amount: 602 })).text, /has refused this call/);
  await device.keep();
});

atGate("a call that is too long to be shown is decided in the terminal", async (page, client, complaints) => {
  await authenticator(page);
  await client.parks({ amount: 700, note: "long ".repeat(10_000) });
  await page.goto(at("/inbox"));
  const card = cardOf(page, "too long to be shown");
  await card.locator(".command").first().waitFor();
  assert.equal(await card.getByRole("button", { name: "Allow once" }).count(), 0);
  await soundIn(page, complaints, "too long");
});

atGate("a studio that only shows decides about no call, and one that does not answer says so", async (page, client, complaints) => {
  await authenticator(page);
  await client.parks({ amount: 801 });
  const shows = await project.studio("--read-only");
  try {
    await page.goto(`${shows.base}#/inbox&token=${shows.token}`);
    const card = cardOf(page, '"amount": 801');
    await card.getByText("--read-only").waitFor();
    assert.equal(await card.getByRole("button", { name: "Allow once" }).count(), 0);
    assert.equal(await card.locator(".command").count(), 2);
    await soundIn(page, complaints, "read-only");
  } finally {
    await shows.kill();
  }
  await page.goto(at("/inbox"));
  const card = cardOf(page, '"amount": 801');
  await card.getByRole("button", { name: "Allow once" }).click();
  await page.route("**/challenge", (route) => route.abort());
  await card.getByRole("button", { name: "Confirm with a passkey" }).click();
  await card.getByRole("alert").filter({ hasText: "does not answer" }).waitFor();
});
