import assert from "node:assert/strict";
import { test } from "node:test";
import { diffLines } from "./diff";
import { countChanges, hunksOf } from "./hunks";

const show = (left: string, right: string) => diffLines(left, right).map((line) => ({ same: " ", left: "-", right: "+" })[line.is] + line.text);

test("common lines stay once", () => {
  assert.deepEqual(show("a\nb\nc", "a\nx\nc"), [" a", "-b", "+x", " c"]);
  assert.deepEqual(show("a\nb", "a\nb"), [" a", " b"]);
  assert.deepEqual(show("a\nb\nc\nd", "b\nd\ne"), ["-a", " b", "-c", " d", "+e"]);
});

test("either text comes out again", () => {
  const left = "one\ntwo\nthree\ntwo\nfour";
  const right = "two\ntwo\nfive\nfour\none";
  const lines = diffLines(left, right);
  assert.equal(lines.filter((l) => l.is !== "right").map((l) => l.text).join("\n"), left);
  assert.equal(lines.filter((l) => l.is !== "left").map((l) => l.text).join("\n"), right);
});

test("hunks show what differs and what is around it", () => {
  const lines = Array.from({ length: 30 }, (_, i) => `${i}`);
  const after = lines.flatMap((line) => (line === "4" ? ["four"] : line === "20" ? [] : [line]));
  const hunks = hunksOf(lines.join("\n"), after.join("\n"), 1);
  assert.deepEqual(hunks.map((h) => [h.left, h.right, h.lines.map((l) => l.text)]), [
    [4, 4, ["3", "4", "four", "5"]],
    [20, 20, ["19", "20", "21"]],
  ]);
  assert.deepEqual(countChanges(hunks), { gone: 2, come: 1 });
});
