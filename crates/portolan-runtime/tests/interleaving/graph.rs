//! Random graphs, small and sound: every node reckons with what came before it, so that a value from another run shows
//! in the end. What comes first among things at once decides nothing: where branches or items may fail, that is caught.

use proptest::prelude::*;

/// The function that is called.
pub(crate) const ROOT: &str = "root";

/// A stretch of a flow.
#[derive(Clone, Debug)]
pub(crate) enum Block {
    Transform(u8),
    Tool(Fate),
    Switch(Vec<Block>, Vec<Block>),
    Loop(u8, Vec<Block>),
    Parallel(Vec<Vec<Block>>),
    Each { items: u8, concurrency: u8, body: Vec<Block> },
    Call(Vec<Block>),
}

/// What becomes of a call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Fine,
    /// It fails every other time, and is tried again.
    Flaky,
    /// It fails, and that leads on.
    Caught,
    /// It fails, and with it the run; where other things go on at once, that is caught.
    Down,
}

pub(crate) fn blocks() -> impl Strategy<Value = Vec<Block>> {
    let fate = prop_oneof![
        6 => Just(Fate::Fine),
        3 => Just(Fate::Flaky),
        2 => Just(Fate::Caught),
        1 => Just(Fate::Down),
    ];
    let leaf = prop_oneof![1 => (1..50_u8).prop_map(Block::Transform), 4 => fate.prop_map(Block::Tool)];
    let block = leaf.prop_recursive(3, 12, 3, |inner| {
        let some = prop::collection::vec(inner, 1..3).boxed();
        prop_oneof![
            (some.clone(), some.clone()).prop_map(|(one, other)| Block::Switch(one, other)),
            (2..4_u8, some.clone()).prop_map(|(times, body)| Block::Loop(times, body)),
            prop::collection::vec(some.clone(), 2..4).prop_map(Block::Parallel),
            (1..4_u8, 1..4_u8, some.clone()).prop_map(|(items, concurrency, body)| Block::Each {
                items,
                concurrency,
                body
            }),
            some.prop_map(Block::Call),
        ]
    });
    prop::collection::vec(block, 1..5)
}

/// The graph as a file, whose tools are at `url`.
pub(crate) fn text(blocks: &[Block], url: &str) -> String {
    let mut writer = Writer::default();
    writer.function(ROOT, blocks, false);
    let tools = writer.tools.join("");
    format!(
        "version: \"1.0\"\nserver: {{name: t, version: \"1\"}}\n\
         mcpServers: {{web: {{type: http, url: \"{url}\"}}}}\ntools:\n{tools}"
    )
}

#[derive(Default)]
struct Writer {
    tools: Vec<String>,
    count: usize,
}

/// A flow that is being written, from its exit backwards: a node names the next.
struct Flow<'n> {
    nodes: &'n mut Vec<String>,
    /// Something goes on beside it.
    at_once: bool,
}

impl Writer {
    fn function(&mut self, name: &str, blocks: &[Block], at_once: bool) {
        let mut nodes = Vec::new();
        let first = self.stretch(blocks, "result", &["entry"], &mut Flow { nodes: &mut nodes, at_once });
        let known = known(&nodes);
        let result = mix(&known.iter().map(String::as_str).collect::<Vec<_>>(), 1);
        nodes.push(format!("{{id: entry, type: entry, next: {first}}}"));
        nodes.push(format!("{{id: result, type: transform, transform: {{expr: '{result}'}}, next: exit}}"));
        nodes.push("{id: exit, type: exit}".to_owned());
        let nodes: String = nodes.iter().map(|node| format!("      - {node}\n")).collect();
        self.tools.push(format!(
            "  - name: {name}\n    description: d\n    inputSchema: {{type: object}}\n    \
             outputSchema: {{type: object}}\n    nodes:\n{nodes}"
        ));
    }

    fn id(&mut self, kind: char) -> String {
        self.count += 1;
        format!("{kind}{}", self.count)
    }

    /// Writes the blocks, which lead to `next`; the node that they begin with.
    fn stretch(&mut self, blocks: &[Block], next: &str, seen: &[&str], flow: &mut Flow<'_>) -> String {
        // The ids are given out first: a node names the one after it.
        let mut seen: Vec<String> = seen.iter().map(|id| (*id).to_owned()).collect();
        let ids: Vec<String> = blocks.iter().map(|block| self.id(initial(block))).collect();
        for (at, block) in blocks.iter().enumerate() {
            let to = ids.get(at + 1).map_or(next, String::as_str);
            let came = self.block(block, &ids[at], to, &seen, flow);
            seen.push(came);
        }
        ids.first().map_or_else(|| next.to_owned(), Clone::clone)
    }

    /// Writes a block that begins with the node `id`; the node by which what it came to is known.
    fn block(&mut self, block: &Block, id: &str, next: &str, seen: &[String], flow: &mut Flow<'_>) -> String {
        let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
        let reckoned = mix(&seen, 3);
        match block {
            Block::Transform(by) => {
                let expr = mix(&seen, u32::from(*by));
                flow.nodes.push(format!("{{id: {id}, type: transform, transform: {{expr: '{expr}'}}, next: {next}}}"));
            }
            Block::Tool(fate) => tool(*fate, id, next, &reckoned, flow),
            Block::Switch(one, other) => {
                let (left, right) = (self.stretch(one, next, &seen, flow), self.stretch(other, next, &seen, flow));
                let last = seen.last().copied().unwrap_or("entry");
                let rule = format!("{{\"==\": [{{\"%\": [{{var: {last}.v}}, 2]}}, 0]}}");
                flow.nodes.push(format!(
                    "{{id: {id}, type: switch, conditions: [{{rule: {rule}, next: {left}}}], next: {right}}}"
                ));
            }
            Block::Loop(times, body) => {
                let again = self.id('s');
                let mut inner = seen.clone();
                inner.push(id);
                let first = self.stretch(body, &again, &inner, flow);
                let expr = format!("{{\"v\": {reckoned}.v + $.{id}.c, \"c\": ($.{id}.c ? $.{id}.c : 0) + 1}}");
                flow.nodes.push(format!("{{id: {id}, type: transform, transform: {{expr: '{expr}'}}, next: {first}}}"));
                let rule = format!("{{\"<\": [{{var: {id}.c}}, {times}]}}");
                flow.nodes.push(format!(
                    "{{id: {again}, type: switch, conditions: [{{rule: {rule}, next: {id}}}], next: {next}}}"
                ));
            }
            Block::Parallel(branches) => return self.parallel(branches, id, next, &seen, flow),
            Block::Each { items, concurrency, body } => {
                let (name, sum) = (format!("f{}", self.id('n')), self.id('t'));
                self.function(&name, body, flow.at_once || *concurrency > 1);
                let items = format!("[1..{items}].{{\"v\": $ + $$.{}.v}}", seen.last().unwrap_or(&"entry"));
                let args = format!(
                    "{{who: {{expr: $.entry.who}}, v: {{expr: $item.v}}, path: {{expr: '$.entry.path & \"/{id}.\" & $index'}}}}"
                );
                flow.nodes.push(format!(
                    "{{id: {id}, type: forEach, items: {{expr: '{items}'}}, tool: {name}, args: {args}, \
                     concurrency: {concurrency}, next: {sum}}}"
                ));
                fold(&format!("$.{id}.v"), &sum, next, flow);
                return sum;
            }
            Block::Call(body) => {
                let name = format!("f{}", self.id('n'));
                self.function(&name, body, flow.at_once);
                let args = format!(
                    "{{who: {{expr: $.entry.who}}, v: {{expr: '{reckoned}.v'}}, path: {{expr: '$.entry.path & \"/{id}\"'}}}}"
                );
                flow.nodes.push(format!("{{id: {id}, type: call, tool: {name}, args: {args}, next: {next}}}"));
            }
        }
        id.to_owned()
    }

    fn parallel(
        &mut self,
        branches: &[Vec<Block>],
        id: &str,
        next: &str,
        seen: &[&str],
        flow: &mut Flow<'_>,
    ) -> String {
        let (join, sum) = (self.id('j'), self.id('t'));
        let mut firsts = Vec::new();
        for branch in branches {
            // What a branch comes to is its last output, which may be any node's.
            let last = self.id('t');
            let mut inner = Flow { nodes: &mut *flow.nodes, at_once: true };
            let from = inner.nodes.len();
            firsts.push(self.stretch(branch, &last, seen, &mut inner));
            let known = known(&inner.nodes[from..]);
            let mut all: Vec<&str> = seen.to_vec();
            all.extend(known.iter().map(String::as_str));
            let expr = mix(&all, 7);
            flow.nodes.push(format!("{{id: {last}, type: transform, transform: {{expr: '{expr}'}}, next: {join}}}"));
        }
        flow.nodes.push(format!("{{id: {id}, type: parallel, branches: [{}], join: {join}}}", firsts.join(", ")));
        flow.nodes.push(format!("{{id: {join}, type: join, next: {sum}}}"));
        let of: Vec<String> = firsts.iter().map(|first| format!("$.{join}.{first}.v")).collect();
        fold(&format!("[{}]", of.join(", ")), &sum, next, flow);
        sum
    }
}

/// The nodes whose output the end of a stretch reckons with.
fn known(nodes: &[String]) -> Vec<String> {
    let ids = nodes.iter().filter_map(|node| node.strip_prefix("{id: ")?.split(',').next().map(str::to_owned));
    ids.filter(|id| !id.starts_with(['p', 'j', 's', 'e'])).collect()
}

fn initial(block: &Block) -> char {
    match block {
        Block::Transform(_) => 't',
        Block::Tool(_) => 'm',
        Block::Switch(..) => 's',
        Block::Loop(..) => 'l',
        Block::Parallel(_) => 'p',
        Block::Each { .. } => 'e',
        Block::Call(_) => 'c',
    }
}

fn tool(fate: Fate, id: &str, next: &str, reckoned: &str, flow: &mut Flow<'_>) {
    let fate = if fate == Fate::Down && flow.at_once { Fate::Caught } else { fate };
    let (word, more) = match fate {
        Fate::Fine => ("fine", String::new()),
        Fate::Flaky => ("flaky", ", retry: {max: 2, backoff: 1ms}".to_owned()),
        Fate::Caught => ("down", format!(", onError: {next}")),
        Fate::Down => ("down", String::new()),
    };
    flow.nodes.push(format!(
        "{{id: {id}, type: mcp, server: web, tool: reckon, args: {{who: {{expr: $.entry.who}}, path: {{expr: \
         '$.entry.path & \"/{id}\"'}}, v: {{expr: '{reckoned}.v'}}, fate: {word}}}{more}, next: {next}}}"
    ));
}

/// A number of what nodes have come to. One that was not come to counts for 1, and one that failed for its message.
fn mix(seen: &[&str], by: u32) -> String {
    let terms: Vec<String> = seen
        .iter()
        .zip(1..)
        .map(|(id, nth)| format!("{nth} * ($.{id}.v ? $.{id}.v : $.{id}.error ? $length($.{id}.error.message) : 1)"))
        .collect();
    format!("{{\"v\": ({by} + {}) % 9973}}", terms.join(" + "))
}

/// Numbers in their order: others, or the same ones in another order, come to another value.
fn fold(numbers: &str, id: &str, next: &str, flow: &mut Flow<'_>) {
    let expr = format!("{{\"v\": $reduce($append([7], {numbers}), function($a, $b) {{ ($a * 31 + $b) % 9973 }})}}");
    flow.nodes.push(format!("{{id: {id}, type: transform, transform: {{expr: '{expr}'}}, next: {next}}}"));
}
