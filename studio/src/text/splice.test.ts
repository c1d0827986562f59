import assert from "node:assert/strict";
import { test } from "node:test";
import { applySplice, joined, reverse, spliceBetween, type Splice } from "./splice";

test("a splice is what a common beginning and end leave", () => {
  assert.deepEqual(spliceBetween("one two three", "one 2 three"), { from: 4, removed: "two", inserted: "2" });
  assert.deepEqual(spliceBetween("aaa", "aaaa"), { from: 3, removed: "", inserted: "a" });
  assert.deepEqual(spliceBetween("abab", "ab"), { from: 2, removed: "ab", inserted: "" });
  assert.equal(spliceBetween("x", "x"), null);
});

test("a surrogate pair is never cut", () => {
  assert.deepEqual(spliceBetween("a😀b", "a😁b"), { from: 1, removed: "😀", inserted: "😁" });
  assert.deepEqual(spliceBetween("\u{1F600}", "\u{1FA00}"), { from: 0, removed: "\u{1F600}", inserted: "\u{1FA00}" });
});

test("there and back again, whatever the texts", () => {
  let seed = 3;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const text = () => Array.from({ length: random(12) }, () => ["a", "b", "\n", "😀", "😁"][random(5)]).join("");
  for (let i = 0; i < 500; i++) {
    const [before, after] = [text(), text()];
    const splice = spliceBetween(before, after);
    if (splice === null) assert.equal(before, after);
    else {
      assert.equal(applySplice(before, splice), after);
      assert.equal(applySplice(after, reverse(splice)), before);
    }
  }
});

test("typing joins, jumping does not", () => {
  const typed = (from: number, inserted: string): Splice => ({ from, removed: "", inserted });
  const gone = (from: number, removed: string): Splice => ({ from, removed, inserted: "" });
  assert.deepEqual(joined(typed(3, "a"), typed(4, "b")), typed(3, "ab"));
  assert.equal(joined(typed(3, "a"), typed(9, "b")), null);
  assert.deepEqual(joined(gone(5, "b"), gone(4, "a")), gone(4, "ab"));
  assert.deepEqual(joined(gone(5, "b"), gone(5, "c")), gone(5, "bc"));
  assert.equal(joined(typed(3, "a"), gone(3, "a")), null);
});
