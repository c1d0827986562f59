const TESTS = { id: "tests", run: ["sh", "-c", "seq 1 40; echo 'login: expected 200, got 500'; exit 1"] };

/** A workflow whose check fails, with a long output, until a person is asked. */
export const NIGHTLY = {
  name: "Nightly",
  nodes: {
    start: { type: "start" },
    test: { type: "gate", name: "Test", maxRetries: 1, accept: [TESTS] },
    repair: { type: "task", name: "Repair" },
    stuck: { type: "end", name: "Tests keep failing", result: "blocked", escalation: "hitl", description: "The tests failed twice. What now?" },
    done: { type: "end", result: "success" },
  },
  edges: [
    { from: "start", to: "test" },
    { from: "test", to: "done", on: "passed" },
    { from: "test", to: "repair", on: "failed" },
    { from: "test", to: "stuck", on: "failed" },
    { from: "repair", to: "test" },
    { from: "stuck", to: "repair", on: "passed" },
  ],
};
