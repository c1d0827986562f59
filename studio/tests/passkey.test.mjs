// Passkeys, with the real server and the authenticator that Chromium has for tests: one is enrolled, it confirms answers, and it
// confirms nothing else. The page is used at the server's own address: passkeys are bound to it.
import assert from "node:assert/strict";
import { soundIn } from "./browser.mjs";
import { atOwnAddress } from "./front.mjs";
import { authenticator, enrolling, inTerminal } from "./passkeys.mjs";
import { APART, inPage, picture, prepare, project, studio } from "./suite.mjs";

prepare((project) => {
  const release = {
    name: "release",
    nodes: {
      start: { type: "start" },
      build: { type: "task", name: "Build the release" },
      done: { type: "end", result: "success" },
      approve: { type: "end", result: "blocked", escalation: "hitl", name: "Approve the release", description: "The notes are written and the tests pass. Shall this version be published?" },
    },
    edges: [{ from: "start", to: "build" }, { from: "build", to: "done", on: "passed" }, { from: "build", to: "approve", on: "failed" }, { from: "approve", to: "build", on: "passed" }],
  };
  project.write(".flow/workflows/release.json", JSON.stringify(release, null, 2));
});

const at = (route, base = studio.base) => `${base}#${route}&token=${studio.token}`;
/** A run that waits for a person whose word is verified. */
async function asking() {
  const agent = await project.agent("--human", "verified").begin();
  const run = await agent.open("release", "version 1.5");
  await agent.next("failed");
  agent.end();
  assert.equal(agent.told.state, "waiting");
  return run;
}

const isWaiting = async (run) => (await studio.ask(`/runs/${run}`)).status === "waiting";
const cardOf = (page, run) => page.locator(".question", { hasText: run });

/** Opens the inbox, and goes to where an answer is to be confirmed. */
async function confirming(page, run, note) {
  await page.goto(at("/inbox"));
  const card = cardOf(page, run);
  await card.locator("input[value=passed]").focus();
  await page.keyboard.press("Space");
  if (note) await card.getByLabel("Note for the agent").fill(note);
  const answer = card.getByRole("button", { name: "Answer…" });
  await answer.focus();
  await page.keyboard.press("Enter");
  const confirm = card.getByRole("button", { name: "Confirm with a passkey" });
  await confirm.waitFor();
  return { card, confirm };
}

inPage("a studio does not enrol passkeys: a terminal begins that", async (page, complaints) => {
  await atOwnAddress(page.context());
  await page.goto(at("/passkey"));
  await page.getByRole("heading", { name: "A terminal begins this" }).waitFor();
  assert.match(await page.locator("main").textContent(), /portolan people passkey/);
  await soundIn(page, complaints, "no enrolment");
  await page.goto(at("/project"));
  await page.locator(".project-facts").getByText("portolan people passkey").waitFor();
}, APART);

inPage("without a passkey there is only the terminal, and how to get one", async (page, complaints) => {
  await atOwnAddress(page.context());
  const run = await asking();
  await page.goto(at("/inbox"));
  const card = cardOf(page, run);
  await card.waitFor();
  assert.match(await card.textContent(), /answer in your terminal.*portolan people passkey/s);
  assert.equal(await card.locator("form").count(), 0);
  await soundIn(page, complaints, "no passkey");
}, APART);

inPage("a passkey is enrolled by keyboard, once a terminal has begun it", async (page, complaints) => {
  await atOwnAddress(page.context());
  const device = await authenticator(page);
  const command = await enrolling();
  try {
    await page.goto(command.address);
    const name = page.getByLabel("Name");
    await name.waitFor();
    assert.equal(await page.evaluate(() => location.hash), "#/passkey");
    assert.notEqual(await name.inputValue(), "");
    for (const colorScheme of ["dark", "light"]) {
      await page.emulateMedia({ colorScheme });
      await soundIn(page, complaints, `enrolling: ${colorScheme}`);
    }
    // The device cannot make sure of the person.
    await device.isPerson(false);
    await name.fill("laptop");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "No passkey was made" }).waitFor();
    await device.isPerson(true);
    // The server has its say of the name.
    await name.fill("-laptop");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "one line" }).waitFor();
    await name.fill("laptop");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "The passkey is enrolled" }).waitFor();
    assert.match(await page.locator("main").textContent(), /laptop.*close this window/s);
    assert.equal(await command.ended, 0);
    assert.match(command.said(), /laptop/);
    // The server is gone, and that is as it should be.
    await page.waitForTimeout(1_500);
    await soundIn(page, complaints, "enrolled");
    assert.equal(await page.getByText("does not answer").count(), 0);
    assert.match(await page.locator("main").textContent(), /close this window/);
    await device.keep();
  } finally {
    command.end();
  }
  await page.goto(at("/project"));
  await page.locator(".project-facts").getByText("1 passkey", { exact: true }).waitFor();
}, APART);

inPage("a device with a passkey that is enrolled makes no second one, and the end of the command is told", async (page) => {
  await atOwnAddress(page.context());
  await authenticator(page);
  const command = await enrolling();
  try {
    await page.goto(command.address);
    await page.getByRole("button", { name: "Make a passkey" }).click();
    await page.getByRole("alert").filter({ hasText: "enrolled already" }).waitFor();
  } finally {
    command.end();
  }
  await page.getByRole("heading", { name: "The command in the terminal has ended" }).waitFor({ timeout: 15_000 });
}, APART);

inPage("a passkey confirms an answer, and the run goes on; what it has signed counts once", async (page, complaints) => {
  await atOwnAddress(page.context());
  const device = await authenticator(page);
  const [run, other] = [await asking(), await asking()];
  const { card, confirm } = await confirming(page, run, "after the tag is signed");
  const told = await card.getByRole("group", { name: "Confirm the answer" }).textContent();
  for (const word of [run, "Approve the release", "passed", "after the tag is signed"]) assert.ok(told.includes(word), told);
  for (const colorScheme of ["dark", "light"]) {
    await page.emulateMedia({ colorScheme });
    await soundIn(page, complaints, `confirming: ${colorScheme}`);
  }
  await card.evaluate((element) => element.scrollIntoView());
  assert.equal(await page.evaluate(() => document.documentElement.scrollTop), 0, "what scrolls is the list, and not the page");
  await picture(page, "passkey");
  // As far as at 200 %, nothing needs to be scrolled sideways.
  await page.setViewportSize({ width: 720, height: 450 });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.getElementById("main").scrollWidth <= innerWidth), true);
  assert.ok(await confirm.evaluate((element) => element === document.activeElement), "the button has the focus");

  const sent = page.waitForRequest((request) => request.url().endsWith(`/runs/${run}/answer`));
  await page.keyboard.press("Enter");
  const answer = (await sent).postDataJSON();
  await page.getByRole("status").filter({ hasText: `${run} was answered` }).waitFor();
  await card.waitFor({ state: "detached" });
  assert.equal(await isWaiting(run), false);
  assert.deepEqual(Object.keys(answer.passkey).sort(), ["authenticatorData", "clientDataJSON", "id", "signature"]);
  await soundIn(page, complaints, "answered");
  const { records } = await studio.ask(`/runs/${run}/records`);
  assert.ok(records.some(({ by }) => by.is === "person" && by.via === "passkey"), JSON.stringify(records));
  await page.goto(at(`/run/${run}`));
  await page.getByText("person ada, by passkey").first().waitFor();

  // Neither here once more, nor for the other run that asks the same.
  assert.ok((await studio.post(`/runs/${run}/answer`, answer)).error);
  assert.equal((await studio.post(`/runs/${other}/answer`, answer)).error.code, "unknown_challenge");
  assert.ok(await isWaiting(other));
  await device.keep();
}, APART);

inPage("each way to fail is told, and the next try succeeds", async (page, complaints) => {
  await atOwnAddress(page.context());
  const device = await authenticator(page);
  const run = await asking();
  const { card, confirm } = await confirming(page, run);
  const refused = (words) => card.getByRole("alert").filter({ hasText: words }).waitFor();

  await device.isPerson(false);
  await confirm.click();
  await refused("Nothing was confirmed");
  await device.isPerson(true);

  // Nobody touches the device.
  await device.touches(false);
  await confirm.click();
  await card.getByRole("button", { name: "Cancel" }).click();
  await refused("It was cancelled");
  assert.ok(await confirm.evaluate((element) => element === document.activeElement), "the focus is where one goes on");
  await page.route("**/challenge", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), seconds: 1 } });
  });
  await confirm.click();
  await refused("It took too long");
  await page.unroute("**/challenge");
  await device.touches(true);

  for (const [code, words] of [["challenge_expired", "too old by now"], ["unknown_passkey", "is not enrolled here"], ["wrong_passkey", "as the server says it"]]) {
    await page.route("**/answer", (route) => route.fulfill({ status: 422, json: { error: { code, message: "as the server says it", help: "begin anew" } } }), { times: 1 });
    await confirm.click();
    await refused(words);
  }
  await soundIn(page, complaints, "refused");

  await confirm.click();
  await page.getByRole("status").filter({ hasText: "was answered" }).waitFor();
  assert.equal(await isWaiting(run), false);
  await device.keep();
}, APART);

inPage("a device without the passkey confirms nothing", async (page) => {
  await atOwnAddress(page.context());
  await authenticator(page, { empty: true });
  const run = await asking();
  const { card, confirm } = await confirming(page, run);
  await page.route("**/challenge", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), seconds: 5 } });
  });
  await confirm.click();
  await card.getByRole("alert").waitFor({ timeout: 15_000 });
  assert.match(await card.getByRole("alert").textContent(), /none of the passkeys that are enrolled|took too long/);
  assert.ok(await isWaiting(run));
}, APART);

inPage("a question that was answered in a terminal meanwhile is not answered again", async (page) => {
  await atOwnAddress(page.context());
  const device = await authenticator(page);
  const run = await asking();
  // It is answered before the page hears of it.
  const { card, confirm } = await confirming(page, run);
  await page.route("**/challenge", async (route) => {
    inTerminal("runs", "answer", run, "passed");
    await route.continue();
  });
  await confirm.click();
  await page.getByRole("status").filter({ hasText: `${run} has moved on meanwhile` }).waitFor();
  await card.waitFor({ state: "detached" });
  assert.equal(await isWaiting(run), false);
  await device.keep();
}, APART);

inPage("a browser without passkeys has the command, and says why", async (page, complaints) => {
  await atOwnAddress(page.context());
  await page.addInitScript("delete globalThis.PublicKeyCredential");
  const run = await asking();
  await page.goto(at("/inbox"));
  const card = cardOf(page, run);
  await card.waitFor();
  assert.match(await card.textContent(), /has no passkeys \(WebAuthn\)/);
  assert.ok((await card.locator(".command").first().textContent()).includes(`portolan runs answer ${run} --project ${project.path} passed`));
  assert.equal(await card.locator("form").count(), 0);
  await soundIn(page, complaints, "no WebAuthn");
}, APART);

inPage("under the address of the machine a link leads to localhost, with the token and without showing it", async (page, complaints) => {
  await atOwnAddress(page.context());
  const run = await asking();
  await page.goto(at("/inbox", `http://127.0.0.1:${studio.port}/`));
  const card = cardOf(page, run);
  await card.waitFor();
  assert.equal(await card.locator("form").count(), 0);
  await soundIn(page, complaints, "elsewhere");
  const there = card.getByRole("link", { name: "open this screen there" });
  await there.focus();
  await page.keyboard.press("Enter");
  await card.getByRole("button", { name: "Answer…" }).waitFor();
  assert.equal(await page.evaluate(() => location.href), `http://localhost:${studio.port}/#/inbox`);
}, APART);

inPage("the terminal stays the other way beside the form", async (page) => {
  await atOwnAddress(page.context());
  const run = await asking();
  await page.goto(at("/inbox"));
  const card = cardOf(page, run);
  await card.getByText("In a terminal instead").click();
  assert.deepEqual((await card.locator(".command").allTextContents()).map((command) => command.trim()), [`portolan runs answer ${run} --project ${project.path} passed`, `portolan runs answer ${run} --project ${project.path} cancelled`]);
}, APART);

inPage("a studio that only shows asks for no passkey", async (page, complaints) => {
  await atOwnAddress(page.context());
  const run = await asking();
  const shows = await project.studio("--read-only");
  try {
    await page.goto(`${shows.base}#/inbox&token=${shows.token}`);
    const card = cardOf(page, run);
    await card.getByText("--read-only").waitFor();
    assert.equal(await card.locator("form").count(), 0);
    assert.ok((await card.locator(".command").count()) > 0);
    await soundIn(page, complaints, "read-only");
  } finally {
    await shows.kill();
  }
}, APART);
