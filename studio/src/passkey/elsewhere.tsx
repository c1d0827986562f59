import { bearer } from "../api/token";
import { addressUnderName } from "./where";

/** Says that passkeys work under one name only, and leads there. */
export const Elsewhere = ({ what }: { what: string }) => (
  <>
    Passkeys belong to the name <code>localhost</code>: <a href={addressUnderName(location, bearer())}>open this screen there</a> {what}.
  </>
);
