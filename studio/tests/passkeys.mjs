// A person at a terminal, and a device with passkeys: the authenticator that Chromium has for tests.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { project } from "./suite.mjs";

const quoted = (word) => `'${word.replaceAll("'", "'\\''")}'`;

/** A command of a person at a terminal of theirs. */
const typed = (...words) => ["script", ["-qec", [project.binary, ...words].map(quoted).join(" "), "/dev/null"], { cwd: project.path, env: project.env }];
export const inTerminal = (...words) => spawnSync(...typed(...words)).stdout?.toString();

/** `portolan people passkey`, and the address that it has said. */
export async function enrolling() {
  const [program, words, options] = typed("people", "passkey");
  const child = spawn(program, words, { ...options, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  for (let waited = 0; waited < 200 && !/#\/passkey&token=\S+\s/.test(said); waited += 1) await new Promise((resolve) => setTimeout(resolve, 50));
  const address = /http:\/\/localhost:\d+\/#\/passkey&token=\S+/.exec(said)?.[0];
  assert.ok(address, said);
  return { address, ended, said: () => said, end: () => child.kill() };
}

/** What the person's device has: it goes from page to page, as the device does. */
let credentials = [];

/** Gives a page an authenticator. */
export async function authenticator(page, { empty = false } = {}) {
  const session = await page.context().newCDPSession(page);
  await session.send("WebAuthn.enable");
  const { authenticatorId } = await session.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  if (!empty) for (const credential of credentials) await session.send("WebAuthn.addCredential", { authenticatorId, credential: { rpId: "localhost", ...credential } });
  return {
    isPerson: (isUserVerified) => session.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }),
    touches: (enabled) => session.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled }),
    keep: async () => ({ credentials } = await session.send("WebAuthn.getCredentials", { authenticatorId })),
  };
}

/** Enrols a passkey of the device that a page has, as a person does. */
export async function enrol(page, device) {
  const command = await enrolling();
  try {
    await page.goto(command.address);
    await page.getByRole("button", { name: "Make a passkey" }).click();
    await page.getByRole("heading", { name: "The passkey is enrolled" }).waitFor();
    await device.keep();
  } finally {
    command.end();
  }
}
