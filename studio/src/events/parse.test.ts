import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser } from "./parse";

const TEXT = 'event: here\ndata: {"version":"1"}\n\n:\n\nevent: record\nid: 7\ndata: a\ndata: b\n\ndata:x\r\n\r\nid: 9\ndata: last\r\r';

test("an event is the same however the text is cut", () => {
  const whole = new EventParser().push(TEXT + "\n");
  for (let cut = 1; cut < TEXT.length; cut++) {
    const parser = new EventParser();
    const parts = [...parser.push(TEXT.slice(0, cut)), ...parser.push(TEXT.slice(cut)), ...parser.push("\n")];
    assert.deepEqual(parts, whole, `cut at ${cut}`);
  }
});

test("names, ids and lines of data", () => {
  assert.deepEqual(new EventParser().push(TEXT + "\n"), [
    { event: "here", data: '{"version":"1"}', id: null },
    { event: "record", data: "a\nb", id: "7" },
    { event: "message", data: "x", id: "7" },
    { event: "message", data: "last", id: "9" },
  ]);
});

test("what is not finished is not an event", () => {
  assert.deepEqual(new EventParser().push("event: record\ndata: a\n"), []);
});
