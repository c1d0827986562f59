import assert from "node:assert/strict";
import { test } from "node:test";
import type { Halt } from "../api/types";
import { endOf, haltWords } from "./halt";

const HALT: Halt = { turn: "person", help: null, step: "stuck", stepName: "Tests keep failing", node: "stuck", branch: null, since: "", asks: "What now?\nSay it.", personOnly: false, failed: [{ node: "test", check: "tests", reason: "exited with status 1", output: "" }], last: null, retries: null, spent: null };

test("who can have a run go on, and what is in the way", () => {
  const told = (halt: Partial<Halt>, status: "waiting" | "working" | "failure" | "cancelled") => {
    const { who, why } = haltWords({ ...HALT, ...halt }, status);
    return `${who}: ${why}`;
  };
  assert.equal(told({}, "waiting"), "Waits for a person's answer: What now? · tests did not hold: exited with status 1");
  assert.equal(told({ turn: "agent" }, "working"), "An agent's turn: tests did not hold: exited with status 1");
  assert.equal(told({ turn: "nobody", failed: [{ node: "send", check: null, reason: "no route", output: "" }] }, "failure"), "It failed: send failed: no route");
  const output = "1 passed\nlogin: expected 200, got 500\n";
  assert.equal(told({ turn: "agent", failed: [{ node: "test", check: "tests", reason: "`sh` exited with status 1", output }] }, "working"), "An agent's turn: tests did not hold: login: expected 200, got 500");
  assert.equal(told({ turn: "engine", failed: [], driven: "paused" }, "working"), "Paused before Tests keep failing: null");
  assert.equal(told({ turn: "held", asks: "no model is set", help: "`portolan runs resume x --go-on` continues it", failed: [] }, "working"), "Waits for a person's decision: no model is set · `portolan runs resume x --go-on` continues it");
  const last = { seq: 3, at: 0, by: { is: "agent" as const, name: "ann" }, text: "agent ann cancelled the run: no time" };
  assert.equal(told({ turn: "nobody", last }, "cancelled"), "It was called off: agent ann cancelled the run: no time");
});

test("the end of an output", () => {
  assert.deepEqual(endOf("1\n2\n3\n", 2), { end: "2\n3", more: 1 });
  assert.deepEqual(endOf("1", 2), { end: "1", more: 0 });
});
