//! The names under which the tools of several servers are offered: their own, or with the server's name before it if
//! two would be the same.

use std::collections::{BTreeMap, BTreeSet};

/// The longest name that clients accept, in bytes.
const MAX_NAME: usize = 128;

/// Returns the name of each tool, in the order of the tools. `taken` are names that are used already.
///
/// A tool whose full name is used as well is not offered: its place has `None`.
pub(super) fn names(tools: &[(&str, &str)], taken: &BTreeSet<String>) -> Vec<Option<String>> {
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, tool) in tools {
        *count.entry(tool).or_default() += 1;
    }
    let is_alone = |tool: &str| count[tool] == 1 && !taken.contains(tool) && is_name(tool);
    let alone = tools.iter().filter(|(_, tool)| is_alone(tool)).map(|(_, tool)| (*tool).to_owned());
    let mut used: BTreeSet<String> = taken.iter().cloned().chain(alone).collect();
    let named = tools.iter().map(|(server, tool)| {
        if is_alone(tool) {
            return Some((*tool).to_owned());
        }
        let full = full(server, tool);
        (full.len() <= MAX_NAME && used.insert(full.clone())).then_some(full)
    });
    named.collect()
}

/// Returns the name of a tool with its server, of characters that every client accepts.
pub(super) fn full(server: &str, tool: &str) -> String {
    let plain = |c: char| if is_plain(c) { c } else { '_' };
    format!("{server}_{tool}").chars().map(plain).collect()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_two_would_have_gets_its_server_before_it() {
        let taken = BTreeSet::from(["Next".to_owned()]);
        let tools = [("db", "query"), ("db", "Next"), ("a b", "search"), ("web", "search"), ("web", "read page")];
        let named: Vec<_> = names(&tools, &taken).into_iter().map(|name| name.unwrap_or_default()).collect();
        assert_eq!(named, ["query", "db_Next", "a_b_search", "web_search", "web_read_page"]);
    }

    #[test]
    fn no_two_tools_have_one_name() {
        let tools = [("a", "x"), ("b", "x"), ("c", "a_x"), ("a b", "y"), ("a_b", "y"), ("z", "n")];
        let named = names(&tools, &BTreeSet::new());
        let some: Vec<&String> = named.iter().flatten().collect();
        assert_eq!(some, ["b_x", "a_x", "a_b_y", "n"]);
        assert_eq!(named[0], None, "`a_x` is the own name of a tool of `c`");
        assert_eq!(names(&[("s", &*"t".repeat(129))], &BTreeSet::new()), [None]);
    }
}
