//! An agent under siege of nothing but its own wishes: tokens old, forged and of other runs, steps that it is not at, answers
//! that are a person's, files that come and go, and the definition edited under it.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::serving;
use crate::support::{Chance, Project, Wire};

const CALLS: usize = 2_000;

const FORT: &str = "
id: fort
version: 1.0.0
title: A fort
variables:
  - { name: parts, type: array, default: [one, two] }
  - { name: sure, type: boolean, default: false }
activities:
  - id: plan
    name: Plan
    steps:
      - { id: look, kind: step, name: Look }
      - { id: prove, kind: step, name: Prove it, accept: [{ id: proof, file: proof.md }] }
      - id: ask
        kind: checkpoint
        message: Is it good?
        options:
          - { id: good, label: It is, effect: { setVariable: { sure: true } } }
          - { id: bad, label: It is not, effect: { transitionTo: plan } }
    transitions: [{ to: build, when: sure == true }, { to: plan }]
  - id: build
    name: Build
    steps:
      - id: each
        kind: loop
        loopType: forEach
        over: parts
        variable: part
        steps: [{ id: make, kind: step, name: 'Make {part}', required: false }]
      - { id: test, kind: step, name: Test it, accept: [{ id: built, file: built.md }] }
    transitions: [{ to: ship }]
  - { id: ship, name: Ship, steps: [{ id: ship, kind: step, name: Ship it }] }
";

const FILE: &str = ".flow/workflows/fort.yaml";
const OTHER: &str = "id: other\nversion: 1.0.0\ntitle: Other\nactivities:\n  - { id: plan, name: Plan, steps: [{ id: look, kind: step, name: Look }, { id: ship, kind: step, name: Ship }] }\n";

/// What has been shown on the way to a state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Shown {
    proof: bool,
    answer: bool,
    built: bool,
}

impl Shown {
    /// What both have shown.
    fn and(self, other: Shown) -> Shown {
        Shown {
            proof: self.proof && other.proof,
            answer: self.answer && other.answer,
            built: self.built && other.built,
        }
    }
}

struct Siege {
    project: Project,
    wire: Wire,
    more: Vec<&'static str>,
    chance: Chance,
    /// Every state that the server gave, with what was shown on the way there, and where that is.
    states: BTreeMap<String, (Shown, Value)>,
    moved: usize,
    refused: usize,
    /// How often a run came to its last step, or its end.
    shipped: usize,
}

impl Siege {
    fn of(more: &[&'static str], seed: u64) -> Siege {
        let project = Project::new();
        project.write(FILE, FORT);
        project.write(".flow/workflows/other.yaml", OTHER);
        let wire = serving(&project, more);
        let chance = Chance::of(seed);
        Siege { project, wire, more: more.to_vec(), chance, states: BTreeMap::new(), moved: 0, refused: 0, shipped: 0 }
    }

    fn lay(mut self) -> Siege {
        for call in 0..CALLS {
            if call % 100 == 0 {
                self.wire = serving(&self.project, &self.more);
            }
            match self.chance.below(20) {
                0 => self.edit(),
                1 | 2 => self.put("proof.md"),
                3 | 4 => self.put("built.md"),
                5 => self.begin(),
                _ => self.attempt(),
            }
        }
        self
    }

    fn put(&mut self, file: &str) {
        let path = self.project.path().join(file);
        match path.exists() {
            true => fs::remove_file(path).expect("it is there"),
            false => self.project.write(file, "so it is"),
        }
    }

    fn has(&self, file: &str) -> bool {
        self.project.path().join(file).exists()
    }

    fn edit(&mut self) {
        let edits: [(&str, &str); 7] = [
            ("", ""),
            (", accept: [{ id: proof, file: proof.md }]", ""),
            (", accept: [{ id: built, file: built.md }]", ""),
            ("file: proof.md", "file: .flow/workflows/fort.yaml"),
            ("kind: step, name: Prove it", "kind: step, required: false, name: Prove it"),
            ("{ to: build, when: sure == true }, { to: plan }", "{ to: ship }"),
            ("id: fort", "id: fort\n  nonsense"),
        ];
        let (from, to) = *self.chance.pick(&edits);
        self.project.write(FILE, &FORT.replace(from, to));
    }

    fn begin(&mut self) {
        let mut arguments = json!({ "workflow_id": "fort" });
        if self.chance.below(2) == 0 {
            arguments["variables"] =
                self.chance.pick(&[json!({ "sure": true }), json!({ "parts": [] }), json!(3)]).clone();
        }
        // A run of an edited definition is held to that one: only those of the fort itself are followed.
        let is_fort = fs::read_to_string(self.project.path().join(FILE)).expect("it is there") == FORT;
        let answer = self.wire.call("start_workflow", &arguments);
        if is_fort && !answer.is_error {
            self.arrives(Shown::default(), &answer.value);
        }
    }

    fn attempt(&mut self) {
        let known: Vec<String> = self.states.keys().cloned().collect();
        if known.is_empty() {
            return self.begin();
        }
        let state = self.chance.pick(&known).clone();
        let now = self.states[&state].1.clone();
        let (tool, arguments, is_offer) = self.call(&state, &now);
        let sent = arguments["state"].as_str().map(str::to_owned);
        let answer = self.wire.call(&tool, &arguments);
        if answer.is_error {
            self.refused += 1;
            assert!(!is_offer, "{tool} {arguments} was offered: {:#}", answer.value);
        }
        let Some((shown, from)) = sent.as_ref().and_then(|sent| self.states.get(sent)).cloned() else {
            assert!(answer.is_error, "a state that was never given: {tool} {arguments}: {:#}", answer.value);
            return;
        };
        let mut after = shown;
        match (tool.as_str(), at(&from)) {
            ("complete_step", Some("prove")) => after.proof |= self.has("proof.md"),
            ("complete_step", Some("test")) => after.built |= self.has("built.md"),
            ("respond_to_checkpoint", Some("ask")) => after.answer |= !self.more.contains(&"verified"),
            _ => {}
        }
        self.arrives(after, &answer.value);
    }

    /// Something to send with a state: what is offered, or anything else.
    fn call(&mut self, state: &str, now: &Value) -> (String, Value, bool) {
        let offers: Vec<&Value> = ["required", "optional"]
            .iter()
            .flat_map(|list| now["availableActions"][*list].as_array().into_iter().flatten())
            .filter(|action| action["tool"] != "end_workflow")
            .collect();

        if !offers.is_empty() && self.chance.below(3) > 0 {
            let offer = *self.chance.pick(&offers);
            let tool = offer["tool"].as_str().expect("a tool").to_owned();
            let mut arguments = offer["arguments"].clone();
            for hole in offer["fill"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                arguments[hole] = match hole {
                    "options" => json!(["good", "bad"]),
                    "option_id" => json!(*self.chance.pick(&["good", "bad"])),
                    _ => json!("as it was asked for"),
                };
            }
            return (tool, arguments, true);
        }
        let tool = *self.chance.pick(&[
            "complete_step",
            "complete_step",
            "respond_to_checkpoint",
            "get_position",
            "raise_checkpoint",
        ]);
        let state = self.forged(state);
        let workflow = *self.chance.pick(&["fort", "fort", "fort", "other"]);
        let mut arguments = json!({ "workflow_id": workflow, "state": state });
        let pick = |chance: &mut Chance, from: &[&str]| json!(*chance.pick(from));
        let chance = &mut self.chance;
        match tool {
            "complete_step" => {
                arguments["step_id"] =
                    pick(chance, &["look", "prove", "ask", "make", "test", "ship", "each", "nowhere"]);
                if chance.below(2) == 0 {
                    arguments["result"] = pick(chance, &["passed", "failed", "skipped", "cancelled", "good", "PASSED"]);
                }
                if chance.below(3) == 0 {
                    arguments["outputs"] =
                        chance.pick(&[json!({ "sure": true }), json!({ "parts": [] }), json!([])]).clone();
                }
            }
            "respond_to_checkpoint" => {
                arguments["checkpoint_id"] = pick(chance, &["ask", "prove", "test", "nowhere"]);
                arguments["option_id"] = pick(chance, &["good", "bad", "passed", "skipped"]);
            }
            "raise_checkpoint" => {
                arguments["question"] = json!("May I ship?");
                arguments["options"] = json!(["good", "bad"]);
            }
            _ => arguments["definition"] = pick(chance, &["pinned", "migrate", "newest"]),
        }
        (tool.to_owned(), arguments, false)
    }

    /// The state itself, or with something changed.
    fn forged(&mut self, state: &str) -> String {
        let mut letters: Vec<char> = state.chars().collect();
        let at = self.chance.below(letters.len());
        match self.chance.below(8) {
            0 => letters[at] = if letters[at] == 'A' { 'B' } else { 'A' },
            1 => letters.truncate(at),
            2 => letters.extend(state.chars()),
            3 => letters.swap(at, (at + 1) % state.len()),
            _ => {}
        }
        letters.into_iter().collect()
    }

    /// A call has led somewhere, refused or not.
    fn arrives(&mut self, shown: Shown, answer: &Value) {
        let Some(state) = answer["state"].as_str() else { return };
        let place = at(answer);
        let is_over = answer["status"] == "completed" || answer["position"].is_null();
        let wants = match place {
            Some("look" | "prove") => Shown { proof: false, answer: false, built: false },
            Some("ask") => Shown { proof: true, answer: false, built: false },
            Some("make" | "test") => Shown { proof: true, answer: true, built: false },
            Some("ship") => Shown { proof: true, answer: true, built: true },
            None if answer["success"] == true => Shown { proof: true, answer: true, built: true },
            // A question of the agent's own, wherever it is.
            _ => Shown::default(),
        };
        let is_shown = shown.proof >= wants.proof && shown.answer >= wants.answer && shown.built >= wants.built;
        assert!(is_shown, "{place:?} with {shown:?}: {answer:#}");
        self.shipped += usize::from(place == Some("ship") || is_over);
        let offered = answer["availableActions"].to_string();
        assert!(!offered.contains("migrate"), "{offered}");
        // A refusal shows where the run is, and two ways may lead to the same state.
        if let Some((before, known)) = self.states.get_mut(state) {
            assert_eq!(at(known), place, "a state stands for one place");
            *before = before.and(shown);
            return;
        }
        self.moved += 1;
        self.states.insert(state.to_owned(), (shown, answer.clone()));
    }
}

/// The step or the checkpoint that a run is at.
fn at(answer: &Value) -> Option<&str> {
    answer["checkpoint"]["id"].as_str().or_else(|| answer["position"]["step"]["id"].as_str())
}

#[test]
fn no_token_leads_past_what_was_not_shown() {
    for (seed, more) in [(1, &["--stateless"][..]), (2, &["--stateless", "--human", "verified"])] {
        let siege = Siege::of(more, seed).lay();
        assert!(siege.moved > 20 && siege.refused > 50, "{} moved, {} refused", siege.moved, siege.refused);
        assert_eq!(siege.shipped > 0, !more.contains(&"verified"), "only a person lets it pass");
    }
}
