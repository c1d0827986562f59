//! Whether an agent may use a tool of its host now, by the rules of the node that its run is at.

use crate::pattern::spelt_rule;
use crate::{Decision, Intent, Judgement, Tool};
use portolan_core::graph::{ToolRules, Workflow, is_meant};
use portolan_core::run::{Frame, FramePath, Place, Run};
use portolan_core::value::NodeId;

/// The guard that enforces the tool rules of nodes.
pub const GUARD: &str = "tools-of-the-step";

/// Judges a tool call by the rules at the positions of a run. Returns `None` if the call is allowed.
///
/// If a run has several branches, the rules of the one count that the call names. If it names none, a tool that any of them
/// allows may be used, because the agent's own branch is unknown. A tool of Portolan's own server is always allowed, so that an agent can ask for its position and continue.
/// A name does not identify that server: `is_own` checks it, and is called only if the rules would refuse the call.
pub fn permit(workflow: &Workflow, run: &Run, intent: &Intent, is_own: impl FnOnce(&str) -> bool) -> Option<Judgement> {
    let (node, reason) = refusal(workflow, run, intent, &names(intent))?;
    match &intent.tool {
        Tool::Mcp { server, .. } if is_own(server) => None,
        _ => Some(judgement(&node, &reason, &intent.tool)),
    }
}

/// Checks whether the rules at an open position name the tool of a call among those that they allow.
pub fn grants(workflow: &Workflow, run: &Run, intent: &Intent) -> bool {
    let names = names(intent);
    deciding(run, intent).iter().any(|(_, frame)| {
        let rules = workflow.flow(&frame.flow).tools_at(frame.place.node());
        rules.is_some_and(|rules| rules.allow.is_some() && refused(&rules, intent, &names).is_none())
    })
}

/// Judges a call that no step grants, where what no step grants is denied.
pub fn denied_by_default(intent: &Intent) -> Judgement {
    let reason = format!("no open step allows `{}`, and what no step allows is denied here", intent.name);
    let remedies = vec!["begin or continue a run whose step allows the tool by name".to_owned()];
    Judgement { remedies, ..Judgement::new(GUARD, Decision::Block, reason) }
}

pub(crate) fn is_open(place: &Place) -> bool {
    !matches!(place, Place::Arrived { .. } | Place::Ended { .. })
}

/// Returns the names of the open branches of a run. Empty if there are not several.
pub fn open_branches(run: &Run) -> Vec<String> {
    let positions = run.positions();
    let open = positions.iter().filter(|(_, frame)| is_open(&frame.place));
    let names: Vec<String> = open.map(|(path, _)| path.text()).collect();
    if names.len() > 1 { names } else { Vec::new() }
}

/// Returns the steps for which a call may be made, each with the revision at which the run reached it: `look@2`.
pub fn open_steps(run: &Run, intent: &Intent) -> Vec<String> {
    deciding(run, intent).iter().map(|(_, frame)| step_of(frame)).collect()
}

/// Returns the step of a frame, with the revision at which the run reached it.
pub fn step_of(frame: &Frame) -> String {
    format!("{}@{}", frame.place.node(), frame.since)
}

/// Returns the open positions that decide about a call: that of the branch which it names, or all if it names none of them.
pub(crate) fn deciding<'r>(run: &'r Run, intent: &Intent) -> Vec<(FramePath, &'r Frame)> {
    let mut open: Vec<_> = run.positions().into_iter().filter(|(_, frame)| is_open(&frame.place)).collect();
    let is_named = |path: &FramePath| intent.branch.as_ref().is_some_and(|branch| *branch == path.text());
    if open.iter().any(|(path, _)| is_named(path)) {
        open.retain(|(path, _)| is_named(path));
    }
    open
}

/// Judges a call that [`permit`] allows as an edit of files: a shell, or a server's tool that is known for it, may edit
/// files as well.
pub fn permit_edit(workflow: &Workflow, run: &Run, intent: &Intent) -> Option<Judgement> {
    let mut names = names(intent);
    names.push("edit".to_owned());
    let (node, reason) = refusal(workflow, run, intent, &names)?;
    Some(judgement(&node, &reason, &Tool::Other))
}

/// Returns the first position that refuses the call, with the reason, or `None` if a position allows it. `names` are
/// the names that a pattern may match the tool by.
fn refusal(workflow: &Workflow, run: &Run, intent: &Intent, names: &[String]) -> Option<(NodeId, String)> {
    let mut refusal = None;
    for (_, frame) in deciding(run, intent) {
        let node = frame.place.node();
        match workflow.flow(&frame.flow).tools_at(node).and_then(|rules| refused(&rules, intent, names)) {
            None => return None,
            Some(reason) => refusal = refusal.or(Some((node.clone(), reason))),
        }
    }
    refusal
}

fn judgement(node: &NodeId, reason: &str, tool: &Tool) -> Judgement {
    let own = "if this is Portolan's own server, add it to the host's settings with `portolan install`, or allow \
        its tools in the step";
    let own = matches!(tool, Tool::Mcp { .. }).then(|| own.to_owned());
    let remedies = [
        "do what the step asks for with the tools that it allows",
        "check the present step, and continue from there when it is done",
    ];
    let remedies = remedies.map(str::to_owned).into_iter().chain(own).collect();
    Judgement { remedies, ..Judgement::new(GUARD, Decision::Block, format!("at `{node}`, {reason}")) }
}

/// Returns why a tool may not be used, or `None` if it may.
fn refused(rules: &ToolRules, intent: &Intent, names: &[String]) -> Option<String> {
    let hit = |patterns: &[String], means: fn(&str, &str) -> bool| {
        patterns.iter().find(|pattern| names.iter().any(|name| means(pattern, name))).cloned()
    };
    // Whether the host has announced the tool under its own name is not known. A denial then holds for both, and a
    // permission for neither.
    if let Some(pattern) =
        hit(&rules.deny, |pattern, name| is_meant(pattern, name) || is_meant(&spelt_rule(pattern), &spelt_rule(name)))
    {
        return Some(format!("`{}` may not be used: the step denies `{pattern}`", intent.name));
    }
    let allow = rules.allow.as_ref()?;
    hit(allow, is_meant).is_none().then(|| {
        let allowed: Vec<&str> = allow.iter().map(String::as_str).collect();
        let allowed = match allowed.as_slice() {
            [] => "no tools".to_owned(),
            allowed => format!("only {}", portolan_core::diagnostic::list(allowed)),
        };
        format!("`{}` may not be used: the step allows {allowed}", intent.name)
    })
}

/// Returns the names that a pattern may match a tool by.
fn names(intent: &Intent) -> Vec<String> {
    let mut names = vec![intent.name.clone()];
    match &intent.tool {
        Tool::Edit { .. } => names.push("edit".to_owned()),
        Tool::Shell { .. } => names.push("shell".to_owned()),
        Tool::Reads => names.push("read".to_owned()),
        Tool::Mcp { server, tool, .. } => names.push(format!("mcp:{server}/{tool}")),
        Tool::Other => {}
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent(name: &str, tool: Tool) -> Intent {
        Intent {
            session: None,
            call: None,
            agent: None,
            folder: "/project".to_owned(),
            name: name.to_owned(),
            tool,
            arguments: Vec::new(),
            branch: None,
        }
    }

    fn rules(allow: Option<&[&str]>, deny: &[&str]) -> ToolRules {
        let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
        ToolRules { allow: allow.map(texts), deny: texts(deny) }
    }

    #[test]
    fn what_is_denied_outweighs_what_is_allowed() {
        let shell = intent("Bash", Tool::Shell { command: "ls".to_owned() });
        let edit = intent("Write", Tool::Edit { paths: Vec::new() });
        let issue = intent(
            "mcp__github__create_issue",
            Tool::Mcp { server: "github".to_owned(), tool: "create_issue".to_owned(), does: None },
        );
        let told = |rules: &ToolRules, intent: &Intent| refused(rules, intent, &names(intent)).is_none();
        assert!(told(&rules(None, &["WebFetch"]), &shell));
        assert!(told(&rules(Some(&["shell"]), &[]), &shell));
        assert!(!told(&rules(Some(&["shell"]), &["Bash"]), &shell));
        assert!(!told(&rules(Some(&["shell"]), &[]), &edit));
        assert!(!told(&rules(Some(&[]), &[]), &edit));
        assert!(told(&rules(Some(&["mcp:github/*"]), &[]), &issue));
        assert!(!told(&rules(Some(&["mcp:gitlab/*"]), &[]), &issue));
    }
}
