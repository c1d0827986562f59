//! Random workflows of activities: variables, conditions, questions with effects, loops within loops, triggered
//! workflows, modes, checks, and ways back and on; and random files of phases.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::draw::Draw;
use crate::generate::Files;

/// How many workflows there are: each may start those after it.
const FLOWS: usize = 3;
/// The names of a workflow's variables, with their types.
pub(crate) const VARIABLES: [(&str, &str); 5] =
    [("b", "boolean"), ("c", "boolean"), ("n", "number"), ("s", "string"), ("list", "array")];
/// A variable that decides nothing.
const NOISE: &str = "noise";
/// How many parts an activity may have, those in its loops included.
const MOST_PARTS: usize = 14;

/// Random files. Not all of them are valid.
pub(crate) fn files() -> impl Strategy<Value = Files> {
    prop::collection::vec(any::<u8>(), 0..400).prop_map(|bytes| {
        let mut draw = Draw::from(&bytes);
        let (is_high, is_hollow) = (draw.one_in(10), draw.one_in(5));
        let drawing =
            |flow| Drawing { flow, draw: &mut draw, is_high, is_hollow, is_ring: false, used: 0, activities: 1 }.file();
        Files((0..FLOWS).map(drawing).collect())
    })
}

/// A random file of phases.
pub(crate) fn phases() -> impl Strategy<Value = Files> {
    prop::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| Files(vec![draw_phases(&mut Draw::from(&bytes))]))
}

struct Drawing<'d, 'b> {
    flow: usize,
    draw: &'d mut Draw<'b>,
    /// Whether each workflow is one activity of loops within loops: some of them stand deeper in one another than may be.
    is_high: bool,
    /// Whether nothing in the workflows gives a variable a value, and most work is conditional.
    is_hollow: bool,
    /// Whether the activities of this workflow lead round, each of them on a condition out.
    is_ring: bool,
    /// How many parts the activity has so far, which number their names.
    used: usize,
    activities: usize,
}

impl Drawing<'_, '_> {
    fn file(&mut self) -> Value {
        self.activities = if self.is_high { 1 } else { 1 + self.draw.below(4) };
        self.is_ring = self.is_hollow && self.activities > 2 && self.draw.one_in(2);
        let activities: Vec<Value> = (0..self.activities).map(|at| self.activity(at)).collect();
        let mut variables: Vec<Value> = VARIABLES.iter().map(|(name, kind)| self.variable(name, kind)).collect();
        variables.push(json!({ "name": NOISE, "type": "number" }));
        let mut file = json!({
            "id": format!("flow{}", self.flow),
            "version": "1.0.0",
            "title": "Random",
            "variables": variables,
            "activities": activities,
        });
        if self.draw.one_in(4) {
            let skips: Vec<String> = if self.draw.one_in(3) { vec![self.activity_id()] } else { Vec::new() };
            file["modes"] = json!([{ "id": "quick", "activationVariable": "c", "skipActivities": skips }]);
        }
        file
    }

    fn variable(&mut self, name: &str, kind: &str) -> Value {
        let mut variable = json!({ "name": name, "type": kind });
        match self.draw.below(8) {
            // Only the root is given what it requires.
            6 if !self.is_hollow => variable["required"] = json!(true),
            at if at > 5 || (self.is_hollow && at > 2) => {}
            at => variable["default"] = value(kind, at),
        }
        variable
    }

    /// One of several activities that lead to each other, and each on a condition to the last.
    fn of_ring(&mut self, at: usize) -> Value {
        let steps: Vec<Value> = (0..1 + self.draw.below(2)).map(|_| self.conditional()).collect();
        let mut activity = json!({ "id": format!("a{at}"), "steps": steps });
        let (last, next) = (self.activities - 1, (at + 1) % (self.activities - 1));
        if at < last {
            let out = json!({ "to": format!("a{last}"), "when": self.condition() });
            activity["transitions"] = json!([out, { "to": format!("a{next}"), "isDefault": true }]);
        }
        activity
    }

    fn conditional(&mut self) -> Value {
        let mut step = self.step();
        step["when"] = json!(self.condition());
        step
    }

    fn activity(&mut self, at: usize) -> Value {
        self.used = 0;
        if self.is_ring {
            return self.of_ring(at);
        }
        let mut activity = json!({ "id": format!("a{at}") });
        activity["steps"] = match self.draw.below(6) {
            _ if self.is_high => self.tower(),
            5 => self.tower(),
            parts => self.parts(parts, 0),
        };
        if self.is_high {
            return activity;
        }
        let ways: Vec<Value> = (0..self.draw.below(4)).map(|_| self.way()).collect();
        if !ways.is_empty() {
            let closes = !self.draw.one_in(4);
            let last = json!({ "to": self.next_of(at), "isDefault": true });
            activity["transitions"] = ways.into_iter().chain(closes.then_some(last)).collect();
        } else if at + 1 < self.activities || self.draw.one_in(5) {
            activity["transitions"] = json!([{ "to": self.next_of(at) }]);
        }
        activity
    }

    fn way(&mut self) -> Value {
        json!({ "to": self.activity_id(), "when": self.condition() })
    }

    fn activity_id(&mut self) -> String {
        format!("a{}", self.draw.below(self.activities))
    }

    /// Mostly the next activity, and sometimes any.
    fn next_of(&mut self, at: usize) -> String {
        if self.draw.one_in(4) || at + 1 == self.activities { self.activity_id() } else { format!("a{}", at + 1) }
    }

    /// Loops within loops, and in the innermost a step that starts another workflow.
    fn tower(&mut self) -> Value {
        let least = if self.is_high { 3 } else { 1 };
        let (levels, id) = (least + self.draw.below(7), self.id("w"));
        let mut inside = json!({ "id": id, "kind": "step", "outputs": ["b"] });
        if self.flow + 1 < FLOWS {
            inside["triggers"] = json!([{ "workflow": format!("flow{}", self.flow + 1) }]);
        }
        for _ in 0..levels {
            let id = self.id("l");
            inside = json!({
                "id": id, "kind": "loop", "loopType": "doWhile", "condition": "b", "maxIterations": 2,
                "atLimit": "continue", "steps": [inside],
            });
        }
        json!([inside])
    }

    fn parts(&mut self, parts: usize, depth: usize) -> Value {
        (0..parts).map(|_| self.part(depth)).collect()
    }

    fn part(&mut self, depth: usize) -> Value {
        let kinds = if self.used >= MOST_PARTS || depth > 3 { 5 } else { 8 };
        let mut part = match self.draw.below(kinds) {
            0..=3 => self.step(),
            4 => self.question(),
            _ => self.looping(depth),
        };
        if self.draw.one_in(3) || (self.is_hollow && !self.draw.one_in(4)) {
            part["when"] = json!(self.condition());
        }
        part
    }

    fn id(&mut self, letter: &str) -> String {
        self.used += 1;
        format!("{letter}{}", self.used)
    }

    fn step(&mut self) -> Value {
        let mut step = json!({ "id": self.id("w"), "kind": "step" });
        if self.is_hollow {
            // Something that no condition reads: where no step reports anything, each may report all.
            step["outputs"] = json!([NOISE]);
        } else if !self.draw.one_in(5) {
            let outputs = VARIABLES.iter().filter(|_| self.draw.one_in(3)).map(|(name, _)| *name);
            step["outputs"] = outputs.collect();
        }
        if self.draw.one_in(6) {
            step["required"] = json!(false);
        }
        if self.draw.one_in(3) {
            let checks = 1 + self.draw.below(2);
            step["accept"] = (0..checks).map(|check| json!({ "id": format!("c{check}"), "file": "x" })).collect();
        }
        if !self.is_hollow && self.draw.one_in(6) {
            let (name, value) = self.setting();
            step["actions"] = json!([{ "action": "set", "target": name, "value": value }]);
        }
        if self.flow + 1 < FLOWS && self.draw.one_in(6) {
            let later = self.flow + 1 + self.draw.below(FLOWS - self.flow - 1);
            let context: Vec<&str> = VARIABLES.iter().filter(|_| self.draw.one_in(2)).map(|(name, _)| *name).collect();
            step["triggers"] = json!([{ "workflow": format!("flow{later}"), "passContext": context }]);
        }
        step
    }

    fn question(&mut self) -> Value {
        let options: Vec<Value> = (0..1 + self.draw.below(3)).map(|option| self.option(option)).collect();
        let mut question = json!({ "id": self.id("q"), "kind": "checkpoint", "message": "Which?", "options": options });
        if self.draw.one_in(6) {
            question["scope"] = json!("run");
        }
        if self.draw.one_in(8) {
            question["required"] = json!(false);
        }
        if self.draw.one_in(8) {
            question["defaultOption"] = json!("o0");
            question["autoAdvanceMs"] = json!(30_000);
        }
        question
    }

    fn option(&mut self, option: usize) -> Value {
        let mut effect = Map::new();
        if !self.is_hollow && self.draw.one_in(2) {
            let (name, value) = self.setting();
            effect.insert("setVariable".to_owned(), json!({ name: value }));
        }
        if self.draw.one_in(5) {
            effect.insert("transitionTo".to_owned(), json!(self.activity_id()));
        }
        if self.draw.one_in(8) {
            effect.insert("skipActivities".to_owned(), json!([self.activity_id()]));
        }
        json!({ "id": format!("o{option}"), "label": "So", "effect": effect })
    }

    fn looping(&mut self, depth: usize) -> Value {
        let mut looping = json!({ "id": self.id("l"), "kind": "loop", "maxIterations": 1 + self.draw.below(3) });
        match self.draw.below(3) {
            0 => {
                looping["loopType"] = json!("forEach");
                looping["over"] = json!("list");
                looping["variable"] = json!("item");
            }
            kind => {
                looping["loopType"] = json!(["while", "doWhile"][kind - 1]);
                looping["condition"] = json!(self.condition());
            }
        }
        if self.draw.one_in(3) {
            looping["breakCondition"] = json!(self.condition());
        }
        if self.draw.one_in(2) {
            looping["atLimit"] = json!("continue");
        }
        let parts = 1 + self.draw.below(3);
        looping["steps"] = self.parts(parts, depth + 1);
        looping
    }

    fn setting(&mut self) -> (&'static str, Value) {
        let (name, kind) = VARIABLES[self.draw.below(VARIABLES.len())];
        (name, value(kind, self.draw.below(6)))
    }

    fn condition(&mut self) -> String {
        const SIMPLE: [&str; 12] = [
            "b",
            "!b",
            "b == true",
            "b == false",
            "c",
            "n > 1",
            "n == 2",
            "n <= 1",
            "s == x",
            "s != x",
            "!(n > 3)",
            "c == true",
        ];
        let one = self.draw.pick(&SIMPLE);
        match self.draw.below(6) {
            4 => format!("{one} && {}", self.draw.pick(&SIMPLE)),
            5 => format!("{one} || {}", self.draw.pick(&SIMPLE)),
            _ => one.to_owned(),
        }
    }
}

/// A value of a type, by a number below 6.
pub(crate) fn value(kind: &str, at: usize) -> Value {
    match kind {
        "boolean" => json!(at % 2 == 1),
        "number" => json!(at % 5),
        "string" => json!(["x", "y", ""][at % 3]),
        _ => [json!([]), json!(["p"]), json!(["p", 2])][at % 3].clone(),
    }
}

fn draw_phases(draw: &mut Draw<'_>) -> Value {
    let count = 1 + draw.below(5);
    let id = |at: usize| format!("p{at}");
    let phases = (0..count).map(|at| {
        let mut phase = json!({ "id": id(at) });
        let checks = draw.below(3);
        if checks > 0 {
            phase["accept"] = (0..checks).map(|check| json!({ "id": format!("c{check}"), "file": "x" })).collect();
        }
        if at > 0 && draw.one_in(3) {
            phase["back"] = json!(id(draw.below(at)));
        }
        phase
    });
    let phases: Vec<Value> = phases.collect();
    let mut field = json!({ "type": "boolean" });
    if draw.one_in(2) {
        field["from"] = json!(id(draw.below(count)));
    }
    json!({ "id": "flow0", "iterationCap": draw.below(4), "fields": { "b": field, "n": { "type": "number" } }, "phases": phases })
}
