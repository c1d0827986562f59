import assert from "node:assert/strict";
import { test } from "node:test";
import { complete, completed } from "./complete";

const NAMES = ["entry", "add", "all", "$item"];
const at = (text: string) => complete(text.replace("|", ""), text.indexOf("|"), NAMES)?.choices ?? null;

test("names complete where a path begins", () => {
  assert.deepEqual(at("a|"), ["add", "all"]);
  assert.deepEqual(at("1 + ad|"), ["add"]);
  assert.deepEqual(at("$.|"), ["entry", "add", "all"]);
  assert.deepEqual(at("($.en|)"), ["entry"]);
  assert.deepEqual(at("$i|"), ["$item"]);
  assert.deepEqual(at('{"var": "ad|"}'), ["add"]);
});

test("nothing is offered within a path, within a word, or where nothing was begun", () => {
  for (const text of ["|", "1 + |", "add.s|", "$.add.|", "foo$.|", "a|dd", "add|", "x|"]) assert.equal(at(text), null, text);
});

test("the chosen name takes the place of what was begun", () => {
  const found = complete("1 + ad > 2", 6, NAMES);
  assert.deepEqual(found && completed("1 + ad > 2", found, "add"), { text: "1 + add > 2", cursor: 7 });
});
