// Passkeys as the server keeps them, for the mock: challenges that are good once, and signatures that are verified.
import { createPublicKey, randomBytes, verify, createHash } from "node:crypto";

const SECONDS = Number(process.env.MOCK_SECONDS ?? 120);
const ENROLS = process.env.MOCK_ENROL !== "0";
const kept = new Map();
if (process.env.MOCK_PASSKEYS !== "0") kept.set("bm90IG9mIHRoaXMgZGV2aWNl", { name: "Another device" });
const open = new Map();

export const count = () => kept.size;

function begin(content) {
  const challenge = randomBytes(32).toString("base64url");
  open.set(challenge, { content: JSON.stringify(content), until: Date.now() + SECONDS * 1000 });
  return challenge;
}

/** What the browser says, once its challenge was good. */
function taken(text, type, content, refuse) {
  const client = JSON.parse(Buffer.from(text, "base64url"));
  const one = open.get(client.challenge);
  open.delete(client.challenge);
  if (client.type !== type) refuse("wrong_passkey", `the passkey was not used for \`${type}\``);
  if (!one) refuse("unknown_challenge", "this challenge is not from this server, or was used before");
  if (Date.now() > one.until) refuse("challenge_expired", "the challenge was valid for two minutes and has expired");
  if (one.content !== JSON.stringify(content)) refuse("other_answer", "what the passkey was asked to confirm differs from this answer");
}

const contentOf = (run, { passkey: _, ...answer }) => [run, answer];

export function challenge(run, body, refuse) {
  if (kept.size === 0) refuse("no_passkey", "no passkey is enrolled for this project", "run `portolan people passkey` in a terminal to enrol one");
  return { challenge: begin(contentOf(run, body)), rpId: "localhost", credentials: [...kept.keys()], seconds: SECONDS };
}

export function confirm(run, body, refuse) {
  const { id, authenticatorData, clientDataJSON, signature } = body.passkey;
  taken(clientDataJSON, "webauthn.get", contentOf(run, body), refuse);
  const one = kept.get(id);
  if (!one?.key) refuse("unknown_passkey", "this passkey is not enrolled here", "run `portolan people passkey` in a terminal to enrol one");
  const signed = Buffer.concat([Buffer.from(authenticatorData, "base64url"), createHash("sha256").update(Buffer.from(clientDataJSON, "base64url")).digest()]);
  if (!verify(one.algorithm === -8 ? null : "sha256", signed, one.key, Buffer.from(signature, "base64url"))) refuse("wrong_passkey", "the signature is not from the enrolled passkey");
}

/** `/passkeys/challenge` and `/passkeys`. */
export function enrol(what, body, refuse) {
  if (!ENROLS) refuse("needs_person", "a passkey cannot be enrolled on the page of this studio, whose token does not identify a person", "a person must begin it in a terminal: `portolan people passkey`", 403);
  if (what === "challenge") return { challenge: begin(["enrolment"]), rpId: "localhost", user: { id: "YWRh", name: "ada" }, exclude: [...kept.keys()] };
  taken(body.clientDataJSON, "webauthn.create", ["enrolment"], refuse);
  const key = createPublicKey({ key: Buffer.from(body.publicKey, "base64url"), format: "der", type: "spki" });
  kept.set(body.id, { name: body.name, algorithm: body.algorithm, key });
  return { name: body.name, id: body.id };
}
