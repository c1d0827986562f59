import { ApiError } from "../api/client";
import { fromBase64url, toBase64url } from "./base64url";

/** What the server gives for a passkey to confirm an answer. */
export interface Challenge {
  challenge: string;
  rpId: string;
  credentials: string[];
  seconds: number;
}

/** What a passkey says: the server verifies it. */
export interface Assertion {
  id: string;
  authenticatorData: string;
  clientDataJSON: string;
  signature: string;
}

/** What the server gives for a passkey to be made. */
export interface Enrolment {
  challenge: string;
  rpId: string;
  user: { id: string; name: string };
  exclude: string[];
}

/** A passkey that was made. */
export interface Registration {
  id: string;
  publicKey: string;
  algorithm: number;
  authenticatorData: string;
  clientDataJSON: string;
}

/** ES256, EdDSA, RS256, by their numbers in COSE: the first that the authenticator knows is taken. */
const ALGORITHMS = [-7, -8, -257];

const ENROL_TIME = 120_000;

const known = (id: string): PublicKeyCredentialDescriptor => ({ type: "public-key", id: fromBase64url(id) });

/** Has a passkey confirm it. */
export async function asserted({ challenge, rpId, credentials, seconds }: Challenge, signal: AbortSignal): Promise<Assertion> {
  const began = performance.now();
  const timeout = seconds * 1_000;
  try {
    const credential = await navigator.credentials.get({
      publicKey: { challenge: fromBase64url(challenge), rpId, allowCredentials: credentials.map(known), userVerification: "required", timeout },
      signal,
    });
    const { response } = credential as PublicKeyCredential & { response: AuthenticatorAssertionResponse };
    return {
      id: toBase64url((credential as PublicKeyCredential).rawId),
      authenticatorData: toBase64url(response.authenticatorData),
      clientDataJSON: toBase64url(response.clientDataJSON),
      signature: toBase64url(response.signature),
    };
  } catch (error) {
    // Browsers call this what they call everything else.
    if (performance.now() - began >= timeout - 500) throw failure("too_late");
    throw failure(nameOf(error));
  }
}

/** Has the browser make a passkey. */
export async function made({ challenge, rpId, user, exclude }: Enrolment): Promise<Registration> {
  let credential: PublicKeyCredential;
  try {
    credential = (await navigator.credentials.create({
      publicKey: {
        challenge: fromBase64url(challenge),
        rp: { id: rpId, name: "Portolan" },
        user: { id: fromBase64url(user.id), name: user.name, displayName: user.name },
        pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: "public-key", alg })),
        excludeCredentials: exclude.map(known),
        authenticatorSelection: { residentKey: "discouraged", userVerification: "required" },
        attestation: "none",
        timeout: ENROL_TIME,
      },
    })) as PublicKeyCredential;
  } catch (error) {
    const name = nameOf(error);
    throw failure(name === "NotAllowedError" ? "NotMadeError" : name);
  }
  const response = credential.response as AuthenticatorAttestationResponse;
  const publicKey = response.getPublicKey();
  if (!publicKey) throw failure("NotSupportedError");
  return {
    id: toBase64url(credential.rawId),
    publicKey: toBase64url(publicKey),
    algorithm: response.getPublicKeyAlgorithm(),
    authenticatorData: toBase64url(response.getAuthenticatorData()),
    clientDataJSON: toBase64url(response.clientDataJSON),
  };
}

const nameOf = (error: unknown) => (error instanceof Error || error instanceof DOMException ? error.name : "");

/** What browsers say is one word for many things, so that pages cannot tell which passkeys there are. */
const WORDS: Record<string, [message: string, help: string]> = {
  NotAllowedError: [
    "Nothing was confirmed: it was cancelled, or this device has none of the passkeys that are enrolled.",
    "Try again, perhaps with another device or security key. Run `portolan people passkey` in a terminal to enrol one of this device.",
  ],
  NotMadeError: ["No passkey was made: it was cancelled, or took too long.", "Try again. The device has to be able to make sure that it is you: by PIN, fingerprint or face."],
  AbortError: ["It was cancelled: nothing was sent.", "Confirm it again whenever you like."],
  InvalidStateError: ["This device has a passkey that is enrolled already.", "Use it, or make one on another device or security key."],
  NotSupportedError: ["This device makes no passkey of a kind that is known here.", "Try another device or security key: ES256, EdDSA and RS256 are known."],
  ConstraintError: ["This device cannot make sure that it is you.", "It needs a PIN, a fingerprint or a face. Set one up, or try another device or security key."],
  SecurityError: ["The browser allows no passkey at this address.", "Open the address that the terminal shows: it begins with http://localhost."],
  too_late: ["It took too long: what was to be confirmed is too old by now, and nothing was sent.", "Begin again."],
};

function failure(name: string): ApiError {
  const [message, help] = WORDS[name] ?? ["The browser could not use a passkey.", "Try again, or answer in your terminal."];
  return new ApiError(0, name || "passkey", message, help);
}

export const cancelled = () => failure("AbortError");

/** What a refusal of the server comes to for whoever has just confirmed something, where that says more than its own words. */
export function inWords(error: ApiError): ApiError {
  const said = (message: string, help: string) => new ApiError(error.status, error.code, message, help, error.answer);
  switch (error.code) {
    case "challenge_expired":
    case "unknown_challenge":
      return said("It took too long, or the server was started anew: what was confirmed is too old by now, and nothing was answered.", "Begin again.");
    case "unknown_passkey":
      return said("The passkey that was used is not enrolled here, and nothing was answered.", "Use another one, or enrol this one: `portolan people passkey` in a terminal.");
    case "no_passkey":
      return said("No passkey is enrolled any more.", "Answer in your terminal, or enrol one there: `portolan people passkey`.");
    case "stale":
      return said("The run has moved on meanwhile, and nothing was answered.", "Read the question again as it is now.");
    default:
      return error;
  }
}

/** A name for a passkey that is made here: what it lies on. */
export function deviceName(agent: { userAgentData?: { platform?: string }; platform?: string; userAgent: string }): string {
  const text = `${agent.userAgentData?.platform ?? ""} ${agent.platform ?? ""} ${agent.userAgent}`;
  const found = DEVICES.find(([sign]) => sign.test(text));
  return found?.[1] ?? "This device";
}

const DEVICES: [RegExp, string][] = [
  [/iphone/i, "iPhone"],
  [/ipad/i, "iPad"],
  [/android/i, "Android"],
  [/\bcros\b|chrom(e|ium) ?os/i, "Chromebook"],
  [/mac/i, "Mac"],
  [/win/i, "Windows"],
  [/linux/i, "Linux"],
  [/bsd/i, "BSD"],
];
