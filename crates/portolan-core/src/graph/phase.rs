//! Phases, the tools that may be used at a node, and the patterns that name them.

use serde::Serialize;

use crate::value::NodeId;

/// What makes work a phase: it is held until what it claims has been shown. Work whose checks do not hold stays where it
/// is, however often it is claimed; it goes back only where somebody says so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Where the work is taken up again when it is reported as failed; nothing where it cannot be.
    pub back: Option<NodeId>,
    /// How many times a run may go back.
    pub cap: u32,
    /// The node at which going back is counted: phases that share one share the cap.
    pub counted_at: NodeId,
}

/// The tools that an agent may use while it works at a node, by pattern.
///
/// A pattern is matched against the name that the host has for the tool (`Bash`, `mcp__github__create_issue`), against
/// what it does (`edit`, `shell`, `read`), and for tools of MCP servers against `mcp:<server>/<tool>`. `*` stands for any
/// text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ToolRules {
    /// Only these may be used; nothing means all.
    pub allow: Option<Vec<String>>,
    /// These may not, whatever else is allowed.
    pub deny: Vec<String>,
}

/// Whether `name` is meant by a pattern: `*` is any text, also none. Time is at most the product of both lengths.
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
