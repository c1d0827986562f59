//! The reference: what a run of a workflow is, told again as simply as possible. It reads the files by itself and
//! shares no code with the engine.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The library that a run walks in: the files by the name of their flow.
pub(crate) struct Library(BTreeMap<String, Value>);

/// How the run is run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) verified: bool,
    pub(crate) outside: bool,
}

/// One flow or branch under way.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    flow: String,
    node: String,
    at: At,
    used: BTreeMap<String, u64>,
    in_branch: bool,
    /// A person's answer is leading on.
    answered: bool,
}

#[derive(Clone, Debug)]
enum At {
    Ready,
    Checking {
        claim: String,
        settled: BTreeMap<String, bool>,
    },
    Asking {
        budget: bool,
    },
    /// Nothing says how to go on.
    Stuck,
    Forked(Vec<(String, Branch)>),
    Gathering,
    Inside(Box<Spot>),
    Arrived(bool),
    Ended(String),
}

#[derive(Clone, Debug)]
enum Branch {
    Held,
    Open(Spot),
    Done(bool),
}

/// What is done at a position.
pub(crate) enum Act<'a> {
    Begin,
    Say { word: &'a str, by_person: bool },
    Settle { check: &'a str, held: bool },
}

/// A run of `flow0`.
pub(crate) struct Model<'l> {
    library: &'l Library,
    rules: Rules,
    pub(crate) root: Spot,
}

/// The act was refused.
#[derive(Debug)]
pub(crate) struct Refused;

/// A frame is over: whether as a success.
type Over = Option<bool>;

impl Library {
    pub(crate) fn of(files: &[Value]) -> Library {
        Library(files.iter().map(|file| (text(&file["id"]), file.clone())).collect())
    }

    fn node(&self, flow: &str, node: &str) -> &Value {
        &self.0[flow]["nodes"][node]
    }

    fn kind(&self, flow: &str, node: &str) -> String {
        let found = self.node(flow, node);
        let asks = found["type"] == "end" && !self.edges(flow, node).is_empty();
        if asks { "question".to_owned() } else { text(&found["type"]) }
    }

    /// The edges that leave a node: on what, and to where. An edge without `on` is for `passed`.
    fn edges(&self, flow: &str, node: &str) -> Vec<(String, String)> {
        let edges = self.0[flow]["edges"].as_array().expect("edges are a list");
        let leaving = edges.iter().filter(|edge| edge["from"] == node);
        leaving.map(|edge| (edge["on"].as_str().unwrap_or("passed").to_owned(), text(&edge["to"]))).collect()
    }

    fn target(&self, flow: &str, node: &str, word: &str) -> Option<String> {
        self.edges(flow, node).into_iter().find(|(on, _)| on == word).map(|(_, to)| to)
    }

    fn checks(&self, flow: &str, node: &str) -> BTreeSet<String> {
        let checks = self.node(flow, node)["accept"].as_array().into_iter().flatten();
        checks.map(|check| text(&check["id"])).collect()
    }

    /// The words that may be said at work.
    fn outcomes(&self, flow: &str, node: &str) -> BTreeSet<String> {
        let declared = self.node(flow, node)["outputs"].as_array().into_iter().flatten().map(text);
        let mut words: BTreeSet<String> = declared.collect();
        if words.is_empty() {
            words.insert("passed".to_owned());
        }
        words.insert("failed".to_owned());
        words
    }
}

impl<'l> Model<'l> {
    pub(crate) fn new(library: &'l Library, rules: Rules) -> Model<'l> {
        Model { library, rules, root: spot("flow0", "start", false) }
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.root.at, At::Ended(_) | At::Arrived(_))
    }

    pub(crate) fn cancel(&mut self) -> Result<(), Refused> {
        if self.is_over() {
            return Err(Refused);
        }
        self.root.at = At::Ended("cancelled".to_owned());
        Ok(())
    }

    pub(crate) fn act(&mut self, path: &[String], act: &Act<'_>) -> Result<(), Refused> {
        if let Act::Say { word: "cancelled", by_person } = act
            && self.ends_the_run(path)
        {
            return if self.rules.verified && !by_person { Err(Refused) } else { self.cancel() };
        }
        let mut root = self.root.clone();
        self.act_in(&mut root, path, act)?;
        self.root = root;
        Ok(())
    }

    pub(crate) fn gather(&mut self, branches: &[(String, bool)]) -> Result<(), Refused> {
        let mut root = self.root.clone();
        if !matches!(root.at, At::Gathering) {
            return Err(Refused);
        }
        let known = |name: &String| branches.iter().find(|(branch, _)| branch == name).map(|(_, passed)| *passed);
        let names = self.library.edges(&root.flow, &root.node).into_iter().map(|(_, to)| to);
        let states: Vec<Option<bool>> = names.map(|name| known(&name)).collect();
        let (join, result) = self.joined(&root, &states);
        let word = if result.ok_or(Refused)? { "passed" } else { "failed" };
        self.leave(&mut root, &join, word);
        self.root = root;
        Ok(())
    }

    /// Whether a person at `path` is asked, and the workflow has no way on for `cancelled` there.
    fn ends_the_run(&self, path: &[String]) -> bool {
        let Some(spot) = find(&self.root, path) else { return false };
        match spot.at {
            At::Asking { budget: true } => true,
            At::Asking { budget: false } => self.library.target(&spot.flow, &spot.node, "cancelled").is_none(),
            _ => false,
        }
    }

    fn act_in(&self, spot: &mut Spot, path: &[String], act: &Act<'_>) -> Result<Over, Refused> {
        let Some((name, rest)) = path.split_first() else { return self.act_here(spot, act) };
        let node = spot.node.clone();
        match &mut spot.at {
            At::Inside(inner) if *name == node => {
                let Some(passed) = self.act_in(inner, rest, act)? else { return Ok(None) };
                Ok(self.leave(spot, &node, if passed { "passed" } else { "failed" }))
            }
            At::Forked(branches) => {
                let (_, branch) = branches.iter_mut().find(|(branch, _)| branch == name).ok_or(Refused)?;
                let Branch::Open(inner) = branch else { return Err(Refused) };
                if let Some(passed) = self.act_in(inner, rest, act)? {
                    *branch = Branch::Done(passed);
                }
                Ok(self.attend(spot))
            }
            _ => Err(Refused),
        }
    }

    fn act_here(&self, spot: &mut Spot, act: &Act<'_>) -> Result<Over, Refused> {
        let (flow, node) = (spot.flow.clone(), spot.node.clone());
        let at_start = self.library.kind(&flow, &node) == "start";
        match (&mut spot.at, act) {
            (At::Ready, Act::Begin) if at_start => Ok(self.leave(spot, &node, "passed")),
            (At::Ready, Act::Say { word, .. }) if !at_start => {
                if !self.library.outcomes(&flow, &node).contains(*word) {
                    return Err(Refused);
                }
                if *word == "failed" || self.library.checks(&flow, &node).is_empty() {
                    return Ok(self.leave(spot, &node, word));
                }
                spot.at = At::Checking { claim: (*word).to_owned(), settled: BTreeMap::new() };
                Ok(None)
            }
            (At::Checking { claim, .. }, Act::Say { word, .. }) if claim == word => Ok(None),
            (At::Checking { claim, settled }, Act::Settle { check, held }) => {
                settled.insert((*check).to_owned(), *held);
                if settled.len() < self.library.checks(&flow, &node).len() {
                    return Ok(None);
                }
                let word = if settled.values().all(|held| *held) { claim.clone() } else { "failed".to_owned() };
                Ok(self.leave(spot, &node, &word))
            }
            (At::Asking { budget }, Act::Say { word, by_person }) => {
                let budget = *budget;
                self.answer(spot, budget, word, *by_person)
            }
            _ => Err(Refused),
        }
    }

    fn answer(&self, spot: &mut Spot, budget: bool, word: &str, by_person: bool) -> Result<Over, Refused> {
        let node = spot.node.clone();
        let known = if budget {
            word == "passed" || word == "failed"
        } else {
            self.library.target(&spot.flow, &node, word).is_some()
        };
        if !known || (self.rules.verified && !by_person) {
            return Err(Refused);
        }
        if budget && word == "failed" {
            spot.at = At::Ended("failure".to_owned());
            return Ok(Some(false));
        }
        spot.used.clear();
        if !budget {
            spot.answered = true;
            let over = self.leave(spot, &node, word);
            spot.answered = false;
            return Ok(over);
        }
        let (retry, _) = self.failed_edges(spot, &node);
        let again = match (retry, self.library.kind(&spot.flow, &node).as_str()) {
            (Some(retry), _) => retry,
            (None, "join") => text(&self.library.node(&spot.flow, &node)["fork"]),
            _ => node,
        };
        Ok(self.enter(spot, &again, true))
    }

    /// The first `failed` edge that leads on, and the first that leads to an end, to a person or to a join.
    fn failed_edges(&self, spot: &Spot, node: &str) -> (Option<String>, Option<String>) {
        let edges = self.library.edges(&spot.flow, node);
        let (out, back): (Vec<String>, Vec<String>) = edges
            .into_iter()
            .filter(|(on, _)| on == "failed")
            .map(|(_, to)| to)
            .partition(|to| ["end", "join"].contains(&text(&self.library.node(&spot.flow, to)["type"]).as_str()));
        (back.into_iter().next(), out.into_iter().next())
    }

    fn leave(&self, spot: &mut Spot, node: &str, word: &str) -> Over {
        if word != "failed" {
            if word == self.success(spot, node) {
                spot.used.remove(node);
            }
            let to = self.library.target(&spot.flow, node, word).expect("every outcome leads somewhere");
            return self.enter(spot, &to, true);
        }
        let (back, out) = self.failed_edges(spot, node);
        let written = self.library.node(&spot.flow, node)["maxRetries"].as_u64();
        let is_question = self.library.kind(&spot.flow, node) == "question";
        let is_join = self.library.kind(&spot.flow, node) == "join";
        let budget = match (&back, &out) {
            (None, None) if !is_join => written.unwrap_or(3),
            _ if is_question => 0,
            _ => written.unwrap_or(0),
        };
        let used = spot.used.get(node).copied().unwrap_or(0);
        let back_at_once = back.is_some() && out.is_none() && budget == 0;
        if used < budget {
            spot.used.insert(node.to_owned(), used + 1);
            let to = back.unwrap_or_else(|| node.to_owned());
            return self.enter(spot, &to, false);
        }
        if let Some(to) = if back_at_once { back } else { out } {
            return self.enter(spot, &to, false);
        }
        spot.node = node.to_owned();
        spot.at = At::Asking { budget: true };
        None
    }

    /// The word by which a node succeeds: `passed` where it has it, else its first.
    fn success(&self, spot: &Spot, node: &str) -> String {
        let outputs = self.library.node(&spot.flow, node)["outputs"].as_array().cloned().unwrap_or_default();
        let words: Vec<String> = outputs.iter().map(text).filter(|word| word != "failed").collect();
        let passes = words.is_empty() || words.contains(&"passed".to_owned());
        if passes { "passed".to_owned() } else { words[0].clone() }
    }

    fn enter(&self, spot: &mut Spot, node: &str, well: bool) -> Over {
        spot.node = node.to_owned();
        let found = self.library.node(&spot.flow, node);
        match self.library.kind(&spot.flow, node).as_str() {
            "question" => spot.at = At::Asking { budget: false },
            "end" => {
                spot.at = At::Ended(text(&found["result"]));
                return Some(found["result"] == "success");
            }
            "fork" if self.rules.outside && spot.flow == "flow0" => spot.at = At::Gathering,
            "fork" => {
                let names = self.library.edges(&spot.flow, node).into_iter().map(|(_, to)| to);
                spot.at = At::Forked(names.map(|name| (name, Branch::Held)).collect());
                return self.attend(spot);
            }
            "join" if spot.in_branch => {
                spot.at = At::Arrived(well);
                return Some(well);
            }
            // What the branches came to, nobody knows but a person.
            "join" if spot.answered => return self.leave(spot, node, if well { "passed" } else { "failed" }),
            "join" => spot.at = At::Stuck,
            "subflow" => {
                let mut inner = self::spot(&text(&found["workflow"]), "start", false);
                let over = self.leave(&mut inner, "start", "passed");
                spot.at = At::Inside(Box::new(inner));
                return over.and_then(|well| self.leave(spot, node, if well { "passed" } else { "failed" }));
            }
            _ => spot.at = At::Ready,
        }
        None
    }

    /// Looks after a fork: joins when the join can be decided, and else opens what the limit lets open.
    fn attend(&self, spot: &mut Spot) -> Over {
        loop {
            let At::Forked(branches) = &spot.at else { return None };
            let states: Vec<Option<bool>> = branches
                .iter()
                .map(|(_, branch)| match branch {
                    Branch::Done(passed) => Some(*passed),
                    Branch::Held | Branch::Open(_) => None,
                })
                .collect();
            let (join, result) = self.joined(spot, &states);
            if let Some(passed) = result {
                return self.leave(spot, &join, if passed { "passed" } else { "failed" });
            }
            let limit = self.library.node(&spot.flow, &spot.node)["maxConcurrency"].as_u64().unwrap_or(u64::MAX);
            let open = branches.iter().filter(|(_, branch)| matches!(branch, Branch::Open(_))).count();
            let held = branches.iter().position(|(_, branch)| matches!(branch, Branch::Held));
            let held = held.filter(|_| (open as u64) < limit)?;
            let name = branches[held].0.clone();
            let mut inner = self::spot(&spot.flow, &name, true);
            let over = self.enter(&mut inner, &name, true);
            let At::Forked(branches) = &mut spot.at else { return None };
            branches[held].1 = over.map_or(Branch::Open(inner), Branch::Done);
        }
    }

    /// The join of the fork that `spot` is at, and what it comes to, if that is known.
    fn joined(&self, spot: &Spot, states: &[Option<bool>]) -> (String, Option<bool>) {
        let join = text(&self.library.node(&spot.flow, &spot.node)["join"]);
        let any = self.library.node(&spot.flow, &join)["strategy"] == "any-pass";
        let one_passed = states.contains(&Some(true));
        let result = if any && one_passed {
            Some(true)
        } else if states.contains(&None) {
            None
        } else {
            Some(!any && !states.contains(&Some(false)))
        };
        (join, result)
    }
}

impl Spot {
    /// The same picture as `picture::of` draws of a run.
    pub(crate) fn picture(&self) -> String {
        let used: Vec<String> = self.used.iter().map(|(gate, used)| format!("{gate}:{used}")).collect();
        let at = match &self.at {
            At::Ready => "ready".to_owned(),
            At::Checking { claim, settled } => {
                let settled: Vec<String> = settled.iter().map(|(check, held)| format!("{check}={held}")).collect();
                format!("checking {claim} {}", settled.join(" "))
            }
            At::Asking { budget } => format!("asking {}", if *budget { "budget" } else { "answer" }),
            At::Gathering => "gathering".to_owned(),
            At::Stuck => "asking progress".to_owned(),
            At::Inside(inner) => format!("inside ({})", inner.picture()),
            At::Arrived(well) => format!("arrived {well}"),
            At::Ended(result) => format!("ended {result}"),
            At::Forked(branches) => {
                let branches: Vec<String> = branches
                    .iter()
                    .map(|(name, branch)| match branch {
                        Branch::Held => format!("{name} held"),
                        Branch::Open(spot) => format!("{name} ({})", spot.picture()),
                        Branch::Done(passed) => format!("{name} {passed}"),
                    })
                    .collect();
                format!("forked ({})", branches.join(", "))
            }
        };
        format!("{}/{} [{}] {at}", self.flow, self.node, used.join(" "))
    }
}

fn spot(flow: &str, node: &str, in_branch: bool) -> Spot {
    Spot {
        flow: flow.to_owned(),
        node: node.to_owned(),
        at: At::Ready,
        used: BTreeMap::new(),
        in_branch,
        answered: false,
    }
}

fn find<'s>(spot: &'s Spot, path: &[String]) -> Option<&'s Spot> {
    let Some((name, rest)) = path.split_first() else { return Some(spot) };
    match &spot.at {
        At::Inside(inner) if *name == spot.node => find(inner, rest),
        At::Forked(branches) => match branches.iter().find(|(branch, _)| branch == name) {
            Some((_, Branch::Open(inner))) => find(inner, rest),
            _ => None,
        },
        _ => None,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
