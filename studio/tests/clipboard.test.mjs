// Steps are copied, pasted and duplicated by keyboard, within a definition and into another one of every format; and one becomes
// a step of another kind.
import assert from "node:assert/strict";
import { Hands } from "./hands.mjs";
import { inPage, prepare, project, studio } from "./suite.mjs";

const other = { name: "Other", nodes: { start: { type: "start" }, work: { type: "task" }, done: { type: "end", result: "success" } }, edges: [{ from: "start", to: "work" }, { from: "work", to: "done" }] };

const AFTERCARE = `id: aftercare
version: 1.0.0
title: Aftercare
activities:
  # What comes last.
  - id: look
    name: Look after it
    steps:
      - { id: see, kind: step, name: See whether it holds } # a week later
`;
const SIZES = `version: "1.0"
server: {name: sizes, version: "1"}
mcpServers:
  files: { builtin: filesystem, root: . }
tools:
  - name: sizes
    description: Says it back
    inputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: say}
      # In its own words.
      - {id: say, type: transform, transform: {expr: '"ahoy"'}, next: exit}
      - {id: exit, type: exit}
`;
const SHIP = `id: ship
title: Ship
phases:
  - { id: plan, prompt: Plan it. } # at most a day
  - { id: build, prompt: Build it. }
`;
const LETTER = `states:
  # Politely.
  greet: { objective: Greet the reader }
  sign: { objective: Sign it, is_final: true }
transitions: { greet: sign }
`;

prepare((project) => {
  project.example("examples/navigator/release/release.json", "release.json");
  project.example("examples/activities/follow-up.yaml", "follow-up.yaml");
  project.example("examples/tool-graphs/inventory.yaml", "inventory.yaml");
  project.example("examples/agent-states/research", "research");
  project.example("crates/portolan-runtime/catalog/phases/delivery.yaml", "delivery.yaml");
  for (const [name, text] of Object.entries({ aftercare: AFTERCARE, sizes: SIZES, ship: SHIP, letter: LETTER })) project.write(`.flow/workflows/${name}.yaml`, text);
  project.write(".flow/workflows/other.json", `${JSON.stringify(other, null, 2)}\n`);
});

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };
const written = (name) => JSON.parse(project.read(`.flow/workflows/${name}.json`));

inPage(
  "a step is copied into another definition, with all that is written of it, and can be pasted twice",
  async (page) => {
    const hands = new Hands(page);
    await hands.at("release", "write_notes");
    await hands.key("Control+c");
    await page.evaluate(() => (location.hash = "#/definition/other?node=work"));
    await page.locator(".work-head h1:text-is('Other')").waitFor();
    await page.locator(".node.selected .name:text-is('work')").waitFor();
    await hands.key("Control+v");
    await hands.selected("write_notes");
    await page.locator(".node.selected .name:text-is('Write the release notes')").waitFor();
    await hands.key("Control+v");
    await hands.selected("write_notes-2");
    await hands.save();
    const { nodes, edges } = written("other");
    const { write_notes: original } = written("release").nodes;
    assert.deepEqual(nodes.write_notes, original);
    assert.deepEqual(nodes["write_notes-2"], original);
    // Each stands behind the step that was selected.
    assert.deepEqual(edges.map(({ from, to }) => `${from} ${to}`), ["start work", "work write_notes", "write_notes write_notes-2", "write_notes-2 done"]);
    await page.evaluate(() => (location.hash = "#/definition/release?node=tag"));
    await page.locator(".work-head h1:text-is('Release')").waitFor();
    assert.equal(await page.getByRole("button", { name: "Save…" }).count(), 0, "it was copied, and not cut");
  },
  CLIPBOARD,
);

inPage(
  "a step is duplicated; what is no step is not pasted, and in a field the keys are the field's",
  async (page) => {
    const hands = new Hands(page);
    await hands.at("release", "tag");
    await hands.key("Control+d");
    await hands.selected("tag_2");
    await page.evaluate(() => navigator.clipboard.writeText("no step at all"));
    await hands.key("Control+v");
    const field = page.locator("[data-form]").getByLabel("Agent", { exact: true });
    await field.fill("");
    await page.keyboard.press("Control+v");
    assert.equal(await field.inputValue(), "no step at all");
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await hands.save();
    const { nodes } = written("release");
    assert.deepEqual(Object.keys(nodes).filter((id) => id.startsWith("tag")), ["tag", "tag_2"]);
    assert.deepEqual(nodes["tag_2"], nodes.tag);
    assert.equal(Object.keys(nodes).length, 10);
  },
  CLIPBOARD,
);

/** The lines that are others than at the last commit. */
const changed = () =>
  project
    .git("diff", "-U0")
    .split("\n")
    .filter((line) => /^[-+]/.test(line) && !/^(---|\+\+\+) /.test(line));
const about = async (definition, node) => (await studio.ask(`/definitions/${definition}`)).about[node];

/** From which definition which step is copied, behind which step of which one it is pasted, and what stands there for it. */
const COPIES = {
  activities: { from: ["follow-up", "file.issue"], to: ["aftercare", "look.see"], pasted: "look.issue", lines: ["+      - id: issue", "+        kind: step", '+        name: "File an issue: {leftover}"', "+        effectivities:", "+          - issue-tracker"] },
  "tool graphs": {
    from: ["inventory", "list"],
    to: ["sizes", "say"],
    pasted: "list",
    lines: [
      `-      - {id: say, type: transform, transform: {expr: '"ahoy"'}, next: exit}`,
      `+      - {id: say, type: transform, transform: {expr: '"ahoy"'}, next: list}`,
      "+      - id: list",
      "+        type: mcp",
      "+        server: files",
      "+        tool: list_directory",
      "+        next: exit",
      "+        args:",
      "+          path:",
      `+            expr: '$exists($.entry.folder) ? $.entry.folder : "."'`,
      "+        postTransform:",
      `+          expr: '[$split($output.content, "\\n")[$contains(/^\\[FILE\\] /)].$substringAfter("[FILE] ")]'`,
      '+        timeout: "5s"',
      "+        retry:",
      "+          max: 2",
      '+          backoff: "200ms"',
    ],
  },
  phases: {
    from: ["delivery", "commit"],
    to: ["ship", "plan"],
    pasted: "commit",
    lines: ["+  - id: commit", "+    title: Commit", "+    prompt: Commit the work in Conventional Commits that name the issue.", "+    accept:", "+      - commitsReferenceIssue", "+      - conventionalCommitFormat"],
  },
  states: { from: ["research", "research"], to: ["letter", "greet"], pasted: "research", lines: [
      '+  research:',
      '+    objective: Three facts about the topic, each with its source',
      '+    key_results:',
      '+      - name: enough',
      '+        description: Has at least three facts',
      `+        check: "len(output['facts']) >= 3"`,
      '+      - name: sourced',
      '+        description: Every fact has a source',
      `+        check: "all(len(fact['source']) > 0 for fact in output['facts'])"`,
      '+    prompt:',
      `+      expr: "'The topic: ' & input.topic"`,
      '+    output_schema:',
      '+      type: object',
      '+      required:',
      '+        - facts',
      '+      additionalProperties: false',
      '+      properties:',
      '+        facts:',
      '+          type: array',
      '+          items:',
      '+            type: object',
      '+            required:',
      '+              - text',
      '+              - source',
      '+            additionalProperties: false',
      '+            properties:',
      '+              text:',
      '+                type: string',
      '+              source:',
      '+                type: string',
      '+    set:',
      '+      facts:',
      '+        expr: output.facts',
      '-transitions: { greet: sign }',
      '+transitions: { greet: research, research: sign }',
    ] },
};

for (const [format, { from, to, pasted, lines }] of Object.entries(COPIES)) {
  inPage(
    `a step is copied into another definition, with all that is written of it: ${format}`,
    async (page) => {
      project.git("add", "-A");
      const hands = new Hands(page);
      await hands.at(...from);
      const original = await about(...from);
      await hands.key("Control+c");
      await page.evaluate(([definition, node]) => (location.hash = `#/definition/${definition}?node=${node}`), to);
      await page.locator(`.react-flow__node[data-id="${to[1]}"] .node.selected`).waitFor();
      await hands.key("Control+v");
      await hands.selected(pasted);
      await hands.save();
      const { word, values } = await about(to[0], pasted);
      assert.deepEqual([word, values], [original.word, original.values]);
      assert.deepEqual(changed(), lines);
      // It was copied, and not cut.
      assert.deepEqual(await about(...from), original);
    },
    CLIPBOARD,
  );
}

/** What becomes a step of which kind, and the lines that are others for it. */
const KINDS = {
  activities: { at: ["follow-up", "report.count"], kind: "Action", word: "action", lines: ["-      - { id: count, kind: step, name: Count the issues, outputs: [filed] }", "+      - { id: count, kind: action, name: Count the issues, outputs: [filed] }"] },
  "tool graphs": { at: ["inventory", "no_folder"], kind: "Switch", word: "switch", lines: [
      '-        type: transform',
      `-        transform: { expr: '{ "files": 0, "bytes": 0, "largest": [] }' }`,
      '+        type: switch',
      '+        conditions: []',
    ] },
  states: { at: ["research", "write"], kind: "Question", word: "ask", lines: [
      '-    objective: The article in Markdown, with a heading, two paragraphs, and the sources at its end',
      '-    key_results:',
      `-      - { name: headed, description: Begins with a heading, check: "output.startswith('# ')" }`,
      '-      - name: whole',
      '-        description: Names every source',
      '-        check: { expr: "$count(shared.facts[$not($contains($$.output, source))]) = 0" }',
      '-      - { name: clear, description: Somebody who knows nothing of the topic can follow it }',
      '-    on_failure: ask',
      '+    ask: ""',
    ] },
};

for (const [format, { at, kind, word, lines }] of Object.entries(KINDS)) {
  inPage(`a step becomes one of another kind, by keyboard, and undo makes it what it was: ${format}`, async (page) => {
    project.git("add", "-A");
    const hands = new Hands(page);
    await hands.at(...at);
    const before = await about(...at);
    await hands.key("k");
    await page.waitForSelector("dialog[open] [role=combobox]");
    await page.keyboard.type(kind);
    await page.keyboard.press("Enter");
    await hands.closed();
    await hands.save();
    assert.equal((await about(...at)).word, word);
    assert.deepEqual(changed(), lines);
    await hands.key("Control+z");
    await hands.save();
    assert.deepEqual(await about(...at), before);
    assert.deepEqual(changed(), []);
  });
}
