//! Whether an agent may use a tool of its host now: what the node says at which its run is.

use crate::{Decision, Intent, Judgement, Tool};
use portolan_core::graph::{ToolRules, Workflow, is_meant};
use portolan_core::run::{Place, Run};
use portolan_core::value::NodeId;

/// The guard that keeps what nodes say of tools.
pub const GUARD: &str = "tools-of-the-step";

/// What the positions of a run say of a tool call: nothing where none of them says anything.
///
/// Where branches are under way, a tool may be used that any of them allows: nobody can tell which branch the agent works
/// at. A tool of Portolan's own server may always be used: an agent can ask where it is, and go on. Which server that is, a
/// name does not tell: `is_own` is asked, and only where the rules would refuse the call.
pub fn permit(workflow: &Workflow, run: &Run, intent: &Intent, is_own: impl FnOnce(&str) -> bool) -> Option<Judgement> {
    let (node, reason) = refusal(workflow, run, intent, &names(intent))?;
    match &intent.tool {
        Tool::Mcp { server, .. } if is_own(server) => None,
        _ => Some(judgement(&node, &reason, &intent.tool)),
    }
}

/// What the positions of a run would say of a call if it wrote a file, where [`permit`] lets it through: by a shell, or by a
/// tool of a server that is known for that, files are edited as well.
pub fn permit_edit(workflow: &Workflow, run: &Run, intent: &Intent) -> Option<Judgement> {
    let mut names = names(intent);
    names.push("edit".to_owned());
    let (node, reason) = refusal(workflow, run, intent, &names)?;
    Some(judgement(&node, &reason, &Tool::Other))
}

/// Why the rules of no position let a call through, and the first of these. `names` are those that patterns may mean it by.
fn refusal(workflow: &Workflow, run: &Run, intent: &Intent, names: &[String]) -> Option<(NodeId, String)> {
    let positions = run.positions();
    let open =
        positions.iter().filter(|(_, frame)| !matches!(frame.place, Place::Arrived { .. } | Place::Ended { .. }));
    let mut refusal = None;
    for (_, frame) in open {
        let node = frame.place.node();
        match workflow.flow(&frame.flow).tools_at(node).and_then(|rules| refused(&rules, intent, names)) {
            None => return None,
            Some(reason) => refusal = refusal.or(Some((node.clone(), reason))),
        }
    }
    refusal
}

fn judgement(node: &NodeId, reason: &str, tool: &Tool) -> Judgement {
    let own = "where this is Portolan's own server, have `portolan install` put it into the host's settings, or allow its tools in the step";
    let own = matches!(tool, Tool::Mcp { .. }).then(|| own.to_owned());
    let remedies = [
        "do what the step asks for with the tools that it allows",
        "look at the present step, and go on from there when it is done",
    ];
    Judgement {
        guard: GUARD.to_owned(),
        invariant: None,
        decision: Decision::Block,
        reason: format!("at `{node}`, {reason}"),
        remedies: remedies.map(str::to_owned).into_iter().chain(own).collect(),
        bypass: None,
        bypassed_by: None,
    }
}

/// Why a tool may not be used; nothing where it may.
fn refused(rules: &ToolRules, intent: &Intent, names: &[String]) -> Option<String> {
    let hit =
        |patterns: &[String]| patterns.iter().find(|pattern| names.iter().any(|name| is_meant(pattern, name))).cloned();
    if let Some(pattern) = hit(&rules.deny) {
        return Some(format!("`{}` may not be used: the step denies `{pattern}`", intent.name));
    }
    let allow = rules.allow.as_ref()?;
    hit(allow).is_none().then(|| {
        let allowed: Vec<&str> = allow.iter().map(String::as_str).collect();
        let allowed = match allowed.as_slice() {
            [] => "no tools".to_owned(),
            allowed => format!("only {}", portolan_core::diagnostic::list(allowed)),
        };
        format!("`{}` may not be used: the step allows {allowed}", intent.name)
    })
}

/// The names that a pattern may mean a tool by.
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
