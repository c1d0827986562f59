//! The reference: computes the result of a definition of every kind of node as simply as possible from its blocks. It
//! shares nothing with the engine.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// A node, or several that belong together. Their names are their positions: `n0`, `n1`, in a branch `n1x0n0`, in
/// another workflow `i0`.
#[derive(Clone, Debug)]
pub(super) enum Block {
    Work,
    Ask,
    /// A tool that fails `fails` times, perhaps with an edge that catches it.
    Call {
        fails: u32,
        caught: bool,
    },
    Compute,
    Switch,
    State,
    /// A state that uses another workflow and a tool, both at once.
    Tools(usize),
    /// Another workflow, for two items at once.
    Each(usize),
    /// Another workflow.
    Run(usize),
    Fork(Vec<Vec<Block>>),
    /// Two passes.
    Loop(Vec<Block>),
}

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) blocks: Vec<Block>,
    /// Whether the definition is called; else it leads an agent.
    pub(super) called: bool,
    /// The other workflows, and whether they have an interface.
    pub(super) inner: Vec<(Vec<Block>, bool)>,
}

/// Returns the definition in the notation of stories.
pub(super) fn text(program: &Program) -> String {
    let flow = |blocks: &[Block], called: bool, prefix: &str| {
        let mut drawing = Drawing::default();
        let first = drawing.sequence(blocks, prefix, "done");
        let takes = if called { "takes input; " } else { "" };
        format!("{takes}start > {first}; {}", drawing.0.join("; "))
    };
    let mut text = flow(&program.blocks, program.called, "n");
    for (index, (blocks, called)) in program.inner.iter().enumerate() {
        text.push_str(&format!(" where inner{index}: {}", flow(blocks, *called, "i")));
    }
    text
}

#[derive(Default)]
struct Drawing(Vec<String>);

impl Drawing {
    /// Adds blocks in a row up to `end`, and returns the name of the first.
    fn sequence(&mut self, blocks: &[Block], prefix: &str, end: &str) -> String {
        for (index, block) in blocks.iter().enumerate() {
            let to = if index + 1 < blocks.len() { format!("{prefix}{}", index + 1) } else { end.to_owned() };
            self.block(block, &format!("{prefix}{index}"), &to);
        }
        format!("{prefix}0")
    }

    fn block(&mut self, block: &Block, name: &str, to: &str) {
        let mut edge = |words: &str| self.0.push(format!("{name}({words}) > {to}"));
        match block {
            Block::Work => edge("gate"),
            Block::Compute => edge("computes"),
            Block::Switch => edge("switch"),
            Block::State => edge("state"),
            Block::Tools(inner) => edge(&format!("state uses inner{inner}")),
            Block::Each(inner) => edge(&format!("each inner{inner}")),
            Block::Run(inner) => edge(&format!("runs inner{inner}")),
            Block::Ask => {
                self.0.push(format!("{name}(ask yes,no) -yes-> {to}"));
                self.0.push(format!("{name} -no-> {to}"));
            }
            Block::Call { caught, .. } => {
                edge("call");
                if *caught {
                    self.0.push(format!("{name} -failed-> {name}h"));
                    self.0.push(format!("{name}h(gate) > {to}"));
                }
            }
            Block::Fork(branches) => {
                let names: Vec<String> = (0..branches.len()).map(|at| format!("{name}x{at}n0")).collect();
                self.0.push(format!("{name} => {} => {name}j", names.join(" | ")));
                for (at, blocks) in branches.iter().enumerate() {
                    self.sequence(blocks, &format!("{name}x{at}n"), &format!("{name}j"));
                }
                self.0.push(format!("{name}j > {to}"));
            }
            Block::Loop(blocks) => {
                self.0.push(format!("var {name}s array = [1,2]"));
                self.0.push(format!("{name}(forEach {name}s as one) > {to}"));
                let first = self.sequence(blocks, &format!("{name}l"), &format!("{name}r"));
                self.0.push(format!("{name} -pass-> {first}"));
                self.0.push(format!("{name}r(repeat {name}) > {name}"));
            }
        }
    }
}

/// Returns how often each tool fails.
pub(super) fn failures(program: &Program) -> BTreeMap<String, u32> {
    fn collect(blocks: &[Block], prefix: &str, found: &mut BTreeMap<String, u32>) {
        for (index, block) in blocks.iter().enumerate() {
            let name = format!("{prefix}{index}");
            match block {
                Block::Call { fails, .. } => {
                    found.insert(name, *fails);
                }
                Block::Fork(branches) => {
                    for (at, blocks) in branches.iter().enumerate() {
                        collect(blocks, &format!("{name}x{at}n"), found);
                    }
                }
                Block::Loop(blocks) => collect(blocks, &format!("{name}l"), found),
                _ => {}
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(&program.blocks, "n", &mut found);
    found
}

/// The actions in each frame, and the end of the run.
pub(super) struct Expected {
    pub(super) done: BTreeMap<String, Vec<String>>,
    pub(super) ended: String,
}

pub(super) fn run(program: &Program) -> Expected {
    let failures = failures(program);
    let mut model = Model { program, failures, done: BTreeMap::new() };
    let mut last = json!({});
    let came = model.sequence(&program.blocks, program.called, ("n", "done"), &[], &mut last);
    let ended = match came {
        Ok(()) if program.called => format!("success at done with {last}"),
        Ok(()) => "success at done".to_owned(),
        Err(Failed { fault, at }) => format!("failure at {at}: {fault} tool-error"),
    };
    Expected { done: model.done, ended }
}

/// The first fault of a called flow, with which it fails.
struct Failed {
    fault: String,
    at: String,
}

struct Model<'p> {
    program: &'p Program,
    failures: BTreeMap<String, u32>,
    done: BTreeMap<String, Vec<String>>,
}

impl Model<'_> {
    fn does(&mut self, path: &[String], what: String) {
        self.done.entry(path.join("/")).or_default().push(what);
    }

    /// `last` is the output of the node before; `end` is the node after the sequence.
    fn sequence(
        &mut self,
        blocks: &[Block],
        called: bool,
        (prefix, end): (&str, &str),
        path: &[String],
        last: &mut Value,
    ) -> Result<(), Failed> {
        for (index, block) in blocks.iter().enumerate() {
            let next = if index + 1 < blocks.len() { format!("{prefix}{}", index + 1) } else { end.to_owned() };
            self.block(block, called, (&format!("{prefix}{index}"), &next), path, last)?;
        }
        Ok(())
    }

    fn block(
        &mut self,
        block: &Block,
        called: bool,
        (name, next): (&str, &str),
        path: &[String],
        last: &mut Value,
    ) -> Result<(), Failed> {
        let inside = |name: &str| [path, &[name.to_owned()]].concat();
        match block {
            Block::Work => self.does(path, format!("do {name}")),
            Block::Ask => self.does(path, format!("answer {name}")),
            Block::Compute => *last = json!(name),
            Block::Switch => *last = json!(next),
            Block::State => {
                self.does(path, format!("ask model for {name}"));
                *last = json!(name);
            }
            Block::Call { caught, .. } => {
                self.does(path, format!("call {name}"));
                while let Some(left @ 1..) = self.failures.get_mut(name) {
                    *left -= 1;
                    if *caught {
                        self.does(path, format!("do {name}h"));
                        *last = json!({ "error": { "node": name, "code": "tool-error", "message": "it fails" } });
                        return Ok(());
                    }
                    if called {
                        return Err(Failed { fault: name.to_owned(), at: name.to_owned() });
                    }
                    self.does(path, format!("again {name}"));
                    self.does(path, format!("call {name}"));
                }
                *last = json!(name);
            }
            Block::Tools(inner) => {
                self.does(path, format!("ask model for {name}"));
                self.does(path, format!("use web/search for {name}"));
                self.inner(*inner, &inside("call-0-0"), json!({}));
                self.does(path, format!("ask model for {name}"));
                *last = json!(name);
            }
            Block::Each(inner) => {
                let items = (0..2).map(|item| self.inner(*inner, &inside(&item.to_string()), json!(["x", "y"][item])));
                *last = items.collect();
            }
            Block::Run(inner) => *last = self.inner(*inner, &inside(name), json!({})),
            Block::Fork(branches) => {
                let mut came = Map::new();
                let mut failed = None;
                for (at, blocks) in branches.iter().enumerate() {
                    let first = format!("{name}x{at}n0");
                    let mut own = Value::Null;
                    let prefix = format!("{name}x{at}n");
                    let done = self.sequence(blocks, called, (&prefix, &format!("{name}j")), &inside(&first), &mut own);
                    failed = failed.or(done.err());
                    came.insert(first, own);
                }
                if let Some(Failed { fault, .. }) = failed {
                    return Err(Failed { fault, at: format!("{name}j") });
                }
                *last = Value::Object(came);
            }
            Block::Loop(blocks) => {
                for _ in 0..2 {
                    let ends = (&*format!("{name}l"), &*format!("{name}r"));
                    self.sequence(blocks, called, ends, &inside(name), last)
                        .map_err(|failed| Failed { at: name.to_owned(), ..failed })?;
                }
            }
        }
        Ok(())
    }

    /// Runs another workflow and returns its output for the caller.
    fn inner(&mut self, index: usize, path: &[String], input: Value) -> Value {
        let (blocks, called) = &self.program.inner[index];
        let mut last = input;
        let done = self.sequence(blocks, *called, ("i", "done"), path, &mut last);
        assert!(done.is_ok(), "nothing fails there");
        if *called { last } else { json!({ "outcome": "passed", "result": "success" }) }
    }
}
