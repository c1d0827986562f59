import assert from "node:assert/strict";
import { test } from "node:test";
import { fromBase64url, toBase64url } from "./base64url";

const bytes = (length: number) => Uint8Array.from({ length }, (_, at) => (at * 167 + length) % 256);

test("bytes of every length come back as they were, and are written as node writes them", () => {
  for (let length = 0; length < 300; length += 1) {
    const text = toBase64url(bytes(length));
    assert.equal(text, Buffer.from(bytes(length)).toString("base64url"));
    assert.deepEqual(fromBase64url(text), bytes(length));
  }
});

test("every byte has its letters, and buffers are taken as they are", () => {
  const all = Uint8Array.from({ length: 256 }, (_, at) => at);
  assert.deepEqual(fromBase64url(toBase64url(all)), all);
  assert.equal(toBase64url(Uint8Array.of(0xfb, 0xff, 0xfe)), "-__-");
  assert.equal(toBase64url(Uint8Array.of(0xff).buffer), "_w");
  assert.equal(toBase64url(all.subarray(1, 3)), "AQI", "a part of a buffer is that part");
});

test("what is not base64url is refused", () => {
  for (const wrong of ["A", "AA==", "+/+/", "A A", "ä", "AAAAA", "AA\n"]) assert.throws(() => fromBase64url(wrong), wrong);
});
