import assert from "node:assert/strict";
import { test } from "node:test";
import { mergeBlocks, mergedFile, mergedText, mergeFile, type Side } from "./merge";

const merge = (base: string, mine: string, theirs: string, side?: Side) => {
  const blocks = mergeBlocks(base, mine, theirs);
  return mergedText(blocks, blocks.map(() => side));
};

test("changes at different places go together", () => {
  assert.equal(merge("a\nb\nc\nd\ne", "A\nb\nc\nd\ne", "a\nb\nc\nd\nE"), "A\nb\nc\nd\nE");
  assert.equal(merge("a\nb\nc", "a\nb\nc\nd", "a\nc"), "a\nc\nd");
  assert.equal(merge("a\nb", "a\nb", "x"), "x");
});

test("the same change on both sides is none", () => {
  assert.deepEqual(mergeBlocks("a\nb\nc", "a\nx\nc", "a\nx\nc"), [{ is: "same", lines: ["a", "x", "c"] }]);
});

test("a place that both changed needs a choice", () => {
  const texts = ["a\nb\nc", "a\nmine\nc", "a\ntheirs\nc"] as const;
  assert.equal(merge(...texts), null);
  assert.equal(merge(...texts, "mine"), "a\nmine\nc");
  assert.equal(merge(...texts, "theirs"), "a\ntheirs\nc");
});

test("neighbours that touch are one place", () => {
  const blocks = mergeBlocks("a\nb\nc\nd", "a\nB\nc\nd", "a\nb\nC\nd");
  assert.deepEqual(blocks.map((b) => b.is), ["same", "changed", "same"]);
  assert.equal(blocks[1]?.is === "changed" && blocks[1].by, "both");
});

test("insertions at the same place, and into what the other removed", () => {
  assert.equal(merge("a\nb", "a\nx\nb", "a\ny\nb"), null);
  assert.equal(merge("a\nb", "a\nx\nb", "a\ny\nb", "mine"), "a\nx\nb");
  assert.equal(merge("a\nb\nc\nd", "a\nb\nx\nc\nd", "a\nd", "mine"), "a\nb\nx\nc\nd");
  assert.equal(merge("a\nb\nc\nd", "a\nb\nx\nc\nd", "a\nd", "theirs"), "a\nd");
});

test("one side for everything gives that side where the other changed nothing, whatever the texts", () => {
  let seed = 11;
  const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
  const change = (lines: string[]) => lines.flatMap((line) => (random(5) === 0 ? [] : random(5) === 0 ? [line, `${random(9)}`] : [line]));
  for (let i = 0; i < 300; i++) {
    const base = Array.from({ length: random(14) + 1 }, () => "abcd"[random(4)] as string);
    const [b, m, t] = [base, change(base), change(base)].map((lines) => lines.join("\n")) as [string, string, string];
    assert.equal(merge(b, m, b), m);
    assert.equal(merge(b, b, t), t);
    assert.equal(merge(b, m, m), m);
    assert.equal(merge(b, m, t, "mine"), merge(b, m, t, "mine"));
    const blocks = mergeBlocks(b, m, t);
    const all = (side: Side) => blocks.flatMap((block) => (block.is === "same" ? block.lines : block[side]));
    const both = blocks.some((block) => block.is === "same");
    assert.ok(both || all("mine").join("\n") === m);
  }
});

test("a file that one side removes and the other changes is for a person to choose", () => {
  const of = (base: string | null, mine: string | null, theirs: string | null, ...choices: ("mine" | "theirs")[]) => {
    const versions = { base, mine, theirs };
    return mergedFile(versions, mergeFile(versions), choices);
  };
  assert.equal(of("a", null, "b"), undefined);
  assert.equal(of("a", null, "b", "mine"), null);
  assert.equal(of("a", null, "b", "theirs"), "b");
  assert.equal(of("a", "b", null), undefined);
  // Where only one of them did something, that counts.
  assert.equal(of("a", null, "a"), null);
  assert.equal(of("a", "a", null), null);
  assert.equal(of(null, "new", null), "new");
  assert.equal(of(null, null, "new"), "new");
  assert.equal(of(null, null, null), null);
  assert.equal(of("a", null, null), null);
  // Both have made it.
  assert.equal(of(null, "one", "other"), undefined);
  assert.equal(of(null, "same", "same"), "same");
});
