import { isAbort, post, toApiError } from "../api/client";
import { asserted, cancelled, inWords, type Challenge } from "./passkey";

/** Gives an answer that a passkey confirms; `onSigned` when it is about to be sent. What goes wrong is told in words that say what to do. */
export async function confirmed<T>(path: string, answer: object, signal: AbortSignal, onSigned: () => void): Promise<T> {
  try {
    const challenge = await post<Challenge>(`${path}/challenge`, answer, signal);
    const passkey = await asserted(challenge, signal);
    onSigned();
    return await post<T>(`${path}/answer`, { ...answer, passkey });
  } catch (error) {
    throw isAbort(error) ? cancelled() : inWords(toApiError(error));
  }
}
