//! The obedient agent: it sends back what it was offered, and nothing else.

use serde_json::{Value, json};

use super::{Project, Wire};

/// Numbers that are as good as random and the same in every run.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn of(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % most as u64).expect("it is below `most`")
    }

    pub(crate) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// The actions that a situation offers, those that lead on first.
pub(crate) fn offered(situation: &Value) -> Vec<Value> {
    let list = |name: &str| situation["actions"][name].as_array().cloned().unwrap_or_default();
    [list("required"), list("optional")].concat()
}

pub(crate) struct Obedient<'a> {
    pub(crate) wire: &'a mut Wire,
    pub(crate) project: &'a Project,
    /// Every answer that it got.
    pub(crate) seen: Vec<Value>,
    /// How many more calls are chosen by chance before it takes what is offered first.
    pub(crate) whims: usize,
    pub(crate) chance: Chance,
}

/// No workflow of the catalogue takes more calls than this.
const MOST_CALLS: usize = 600;

impl Obedient<'_> {
    /// Leads a run from a situation to its end, and its child tasks with it.
    pub(crate) fn lead(&mut self, mut situation: Value) -> Value {
        let own = address(&situation);
        let mut children = 0;
        for _ in 0..MOST_CALLS {
            if situation["state"] == "ended" {
                return situation;
            }
            let action = self.choose(&situation);
            situation = match &action["fill"] {
                Value::Null => self.send(&action),
                fill => {
                    assert_eq!(*fill, json!(["taskFilePath"]), "{action}");
                    children += 1;
                    self.child(&action, &own, children);
                    self.look(&own)
                }
            };
            if offered(&situation).is_empty() && situation["state"] != "ended" {
                situation = self.look(&own);
            }
        }
        panic!("no end in sight: {situation:#}");
    }

    fn choose(&mut self, situation: &Value) -> Value {
        let offered = offered(situation);
        assert!(!offered.is_empty(), "nothing is offered: {situation:#}");
        if self.whims == 0 {
            return offered[0].clone();
        }
        self.whims -= 1;
        // To call the run off is always offered, and shows little.
        let lively: Vec<&Value> =
            offered.iter().filter(|action| action["arguments"]["result"] != "cancelled").collect();
        (*self.chance.pick(&lively)).clone()
    }

    fn send(&mut self, action: &Value) -> Value {
        let answer = self.wire.take(action);
        self.seen.push(answer.clone());
        answer
    }

    fn look(&mut self, address: &Value) -> Value {
        self.wire.done("Current", address)
    }

    /// A branch that is a task of its own, in a file beside its parent's.
    fn child(&mut self, action: &Value, parent: &Value, nth: usize) {
        let parent = parent["taskFilePath"].as_str().expect("only tasks have child tasks");
        let mut path = format!("{}-{nth}.json", parent.trim_end_matches(".json"));
        // A fork that is visited again has new children.
        while std::path::Path::new(&path).exists() {
            path = path.replace(".json", "x.json");
        }
        let mut filled = action.clone();
        filled["arguments"]["taskFilePath"] = json!(path);
        let opened = self.send(&filled);
        let ended = self.lead(opened);
        assert!(["join", "failure", "hitl"].contains(&ended["terminal"].as_str().unwrap_or_default()), "{ended:#}");
        assert!(std::path::Path::new(&path).starts_with(self.project.path().parent().expect("a folder")));
    }
}

fn address(situation: &Value) -> Value {
    let action = offered(situation).into_iter().find(|action| action["fill"].is_null()).expect("an action");
    let named = |name: &str| action["arguments"].get(name).map(|value| json!({ name: value }));
    named("run").or(named("taskFilePath")).expect("an address")
}
