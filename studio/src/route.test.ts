import assert from "node:assert/strict";
import { test } from "node:test";
import { splitFragment } from "./api/token";
import { link, parseRoute } from "./route";

test("the token is taken out of the fragment", () => {
  assert.deepEqual(splitFragment("#token=abc"), { token: "abc", rest: "#/" });
  assert.deepEqual(splitFragment("#/run/r@17&token=abc"), { token: "abc", rest: "#/run/r@17" });
  assert.deepEqual(splitFragment("#/run/r@17?node=a&token=abc"), { token: "abc", rest: "#/run/r@17?node=a" });
  assert.deepEqual(splitFragment("#/passkey&token=abc"), { token: "abc", rest: "#/passkey" });
  assert.deepEqual(splitFragment("#/inbox"), { token: null, rest: "#/inbox" });
});

test("every link is read back as what it was made of", () => {
  assert.deepEqual(parseRoute(link.passkey()), { screen: "passkey" });
  assert.deepEqual(parseRoute(link.definition("a/b@1?x", { node: "each/2 & more" })), { screen: "definition", id: "a/b@1?x", root: null, node: "each/2 & more" });
  assert.deepEqual(parseRoute(link.run("r-1", 17)), { screen: "run", run: "r-1", seq: 17, node: null });
  assert.deepEqual(parseRoute(link.run("r@odd")), { screen: "run", run: "r@odd", seq: null, node: null });
  assert.deepEqual(parseRoute(link.compare({ run: "a", seq: 1 }, { run: "b", seq: null })), { screen: "compare", left: { run: "a", seq: 1 }, right: { run: "b", seq: null } });
});
