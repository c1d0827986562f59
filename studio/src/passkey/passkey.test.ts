import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "../api/client";
import { splitFragment } from "../api/token";
import { deviceName, inWords } from "./passkey";
import { addressUnderName } from "./where";

test("the same screen has an address under localhost, whose token is taken out again", () => {
  const here = { port: "4711", pathname: "/", search: "", hash: "#/inbox" };
  assert.equal(addressUnderName(here, "a+b"), "http://localhost:4711/#/inbox&token=a%2Bb");
  assert.deepEqual(splitFragment("#/inbox&token=a%2Bb"), { token: "a+b", rest: "#/inbox" });
  assert.equal(addressUnderName({ ...here, hash: "" }, "abc"), "http://localhost:4711/#/&token=abc");
  assert.equal(addressUnderName({ ...here, port: "", hash: "#/run/r@17?node=a" }, null), "http://localhost/#/run/r@17?node=a");
});

test("a passkey is called after what it lies on", () => {
  const chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0 Safari/537.36";
  assert.equal(deviceName({ userAgentData: { platform: "Linux" }, platform: "Linux x86_64", userAgent: chrome }), "Linux");
  assert.equal(deviceName({ userAgentData: { platform: "Windows" }, platform: "Win32", userAgent: "Mozilla/5.0 (Windows NT 10.0)" }), "Windows");
  assert.equal(deviceName({ platform: "MacIntel", userAgent: "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)" }), "Mac");
  assert.equal(deviceName({ platform: "Linux armv8l", userAgent: "Mozilla/5.0 (Linux; Android 16)" }), "Android");
  assert.equal(deviceName({ platform: "iPhone", userAgent: "Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X)" }), "iPhone");
  assert.equal(deviceName({ userAgent: "something" }), "This device");
});

test("a refusal says what to do, and one that is not known is told as the server tells it", () => {
  for (const code of ["challenge_expired", "unknown_challenge", "unknown_passkey", "no_passkey", "stale"]) {
    const told = inWords(new ApiError(422, code, "as it is said to programs", null));
    assert.ok(told.help && told.message !== "as it is said to programs", code);
    assert.equal(told.status, 422);
  }
  const other = new ApiError(422, "wrong_passkey", "the signature is not from the enrolled passkey", "begin anew");
  assert.equal(inWords(other), other);
});
