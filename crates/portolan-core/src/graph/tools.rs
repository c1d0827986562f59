//! The tools that may be used at a node, and the patterns that match their names.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use super::{Flow, Kind, Node};
use crate::value::NodeId;

/// The tools that an agent may use while it works at a node, by pattern.
///
/// A pattern is matched against the host's name for the tool (`Bash`, `mcp__github__create_issue`), against its kind
/// (`edit`, `shell`, `read`), and for tools of MCP servers against `mcp:<server>/<tool>`. `*` matches any text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolRules {
    /// Only these may be used; `None` allows all.
    pub allow: Option<Vec<String>>,
    /// These may not be used, even if `allow` matches them.
    pub deny: Vec<String>,
}

impl ToolRules {
    /// Returns the rules that both have.
    fn shared(&self, other: &ToolRules) -> ToolRules {
        ToolRules {
            allow: self.allow.clone().filter(|allow| Some(allow) == other.allow.as_ref()),
            deny: self.deny.iter().filter(|pattern| other.deny.contains(pattern)).cloned().collect(),
        }
    }
}

impl Flow {
    /// Returns the rules for tools while a run is at a node; `None` if all tools may be used.
    ///
    /// A question to a person without rules of its own changes nothing: until it is answered, the rules apply that all
    /// steps before it have in common.
    ///
    /// # Panics
    /// Panics if there is no node of that name.
    pub fn tools_at(&self, id: &NodeId) -> Option<Cow<'_, ToolRules>> {
        let node = &self.step(id).node;
        match (&node.tools, &node.kind) {
            (Some(rules), _) => Some(Cow::Borrowed(rules)),
            (None, Kind::Checkpoint { .. }) => self.tools_before(id).map(Cow::Owned),
            (None, _) => None,
        }
    }

    /// Returns the nodes whose rules for calls of tools apply while a run is at a node: the node itself, or the steps
    /// before a question to a person, of which only those rules apply that all of them have.
    ///
    /// # Panics
    /// Panics if there is no node of that name.
    pub fn ruling_nodes<'f>(&'f self, id: &'f NodeId) -> Vec<&'f Node> {
        let node = &self.step(id).node;
        match (&node.call_rules, &node.kind) {
            (None, Kind::Checkpoint { .. }) => self.work_before(id, |node| node.call_rules.is_some()),
            _ => vec![node],
        }
    }

    /// Returns the rules that all steps before a node have in common.
    fn tools_before(&self, id: &NodeId) -> Option<ToolRules> {
        let mut shared: Option<ToolRules> = None;
        for node in self.work_before(id, |node| node.tools.is_some()) {
            let rules = node.tools.as_deref()?;
            shared = Some(shared.map_or_else(|| rules.clone(), |shared| shared.shared(rules)));
        }
        shared.filter(|rules| *rules != ToolRules::default())
    }

    /// Returns the steps before a node. Nodes that the engine executes in between do not count, and neither do questions
    /// without rules of their own.
    fn work_before<'f>(&'f self, id: &'f NodeId, has_rules: fn(&Node) -> bool) -> Vec<&'f Node> {
        let (mut visited, mut waiting) = (BTreeSet::from([id]), vec![id]);
        let mut work = Vec::new();
        while let Some(to) = waiting.pop() {
            let before = self.steps.iter().filter(|(_, step)| step.exits.targets().any(|target| target == to));
            for (from, step) in before {
                let passes = match step.node.kind {
                    Kind::Checkpoint { .. } => !has_rules(&step.node),
                    Kind::Switch | Kind::Activity | Kind::Loop(_) | Kind::Repeat { .. } => true,
                    Kind::Fork { .. } | Kind::Join { .. } => true,
                    _ => false,
                };
                if passes {
                    waiting.extend(visited.insert(from).then_some(from));
                } else {
                    work.push(&step.node);
                }
            }
        }
        work
    }
}

/// Checks whether a pattern matches `name`: `*` matches any text, also the empty one. Takes time of at most the product
/// of both lengths.
pub fn is_meant(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut of) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while of < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, of));
                at += 1;
            }
            Some(byte) if *byte == name[of] => {
                at += 1;
                of += 1;
            }
            _ => match star {
                Some((back, taken)) => {
                    star = Some((back, taken + 1));
                    at = back + 1;
                    of = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_names() {
        for (pattern, name, is_match) in [
            ("Bash", "Bash", true),
            ("Bash", "BashOutput", false),
            ("Bash*", "BashOutput", true),
            ("*", "", true),
            ("mcp__*__create_*", "mcp__github__create_issue", true),
            ("mcp__*__create_*", "mcp__github__delete_issue", false),
            ("a*b*c", "aXbXbYc", true),
            ("a*b*c", "aXbXbY", false),
            ("", "x", false),
        ] {
            assert_eq!(is_meant(pattern, name), is_match, "{pattern} {name}");
        }
    }
}
