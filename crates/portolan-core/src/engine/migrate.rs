//! Migrates a run to a later version of its workflow, if everything that it names still exists.

use std::mem::discriminant;

use super::fits;
use super::weakening::unchanged_so_far;
use crate::graph::{Kind, Variable, Workflow};
use crate::run::{Change, Frame, FramePath, Place, Run};

/// Returns `run`, a run of `then`, as a run of `now`. Variables keep their values, and new ones get their defaults.
/// Nothing else in the run changes.
///
/// # Errors
/// Why it cannot be migrated: its present node is gone or has another kind, a variable does not accept its value, or a
/// check, a gate or a question on the path so far was added, changed or removed.
pub fn migrate(then: &Workflow, now: &Workflow, run: &Run) -> Result<Run, String> {
    fits(now, run).map_err(|misfit| format!("`{}` no longer exists in `{}`", misfit.node, misfit.flow))?;
    unchanged_so_far(then, now, &run.root)?;
    let mut run = run.clone();
    carry(then, now, &mut run.root, true)?;
    Ok(run)
}

/// Returns the changes that turn `run` into the result of [`migrate`]: they set the new variables to their defaults.
pub fn changes_of(run: &Run, migrated: &Run) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut waiting = vec![(FramePath::default(), &run.root, &migrated.root)];
    while let Some((path, was, is)) = waiting.pop() {
        let known = |name: &String| was.data.as_ref().is_some_and(|data| data.variables.contains_key(name));
        let new = is.data.iter().flat_map(|data| &data.variables).filter(|(name, _)| !known(name));
        changes.extend(new.map(|(name, value)| Change::Set {
            frame: path.clone(),
            name: name.clone(),
            value: value.clone(),
        }));
        let inner = was.inner().zip(is.inner());
        waiting.extend(inner.map(|((name, was), (_, is))| (path.join(name), was, is)));
    }
    changes
}

fn carry(then: &Workflow, now: &Workflow, frame: &mut Frame, owns_variables: bool) -> Result<(), String> {
    let node = frame.place.node();
    let was = then.flow(&frame.flow).step(node).node.kind.word();
    let is = now.flow(&frame.flow).step(node).node.kind.word();
    if was != is {
        return Err(format!("the kind of `{node}` has changed from {was} to {is}"));
    }
    if let (Kind::Loop(was), Kind::Loop(is)) =
        (&then.flow(&frame.flow).step(node).node.kind, &now.flow(&frame.flow).step(node).node.kind)
        && discriminant(&was.kind) != discriminant(&is.kind)
    {
        return Err(format!("the loop `{node}` is now of another kind"));
    }
    if owns_variables {
        variables(then, now, frame)?;
    }
    let is_flow = matches!(frame.place, Place::Within { .. } | Place::Each { .. });
    // The variables of a branch are a copy of those of its flow, and a pass of a loop has only its item.
    frame.inner_frames_mut().into_iter().try_for_each(|inner| carry(then, now, inner, is_flow))
}

fn variables(then: &Workflow, now: &Workflow, frame: &mut Frame) -> Result<(), String> {
    let (before, flow) = (then.flow(&frame.flow), now.flow(&frame.flow));
    let known = frame.data.iter().flat_map(|data| &data.variables);
    for (name, value) in known {
        match flow.variable(name) {
            Some(variable) if variable.kind.takes(value) => {}
            Some(variable) => return Err(format!("`{name}` is {} now", variable.kind.described())),
            // Variables that a dialect creates itself are not declared.
            None if before.variable(name).is_none() => {}
            None => return Err(format!("the variable `{name}` no longer exists")),
        }
    }
    let lacks = |it: &&Variable| {
        it.required
            && it.default.is_none()
            && frame.data.as_ref().is_none_or(|data| !data.variables.contains_key(&it.name.value))
    };
    if let Some(lacking) = flow.variables.iter().find(lacks) {
        return Err(format!("`{}` is now required, and the run has no value for it", lacking.name.value));
    }
    let new = flow.variables.iter().filter_map(|it| Some((it.name.value.clone(), it.default.clone()?)));
    let new: Vec<_> = new.collect();
    if !new.is_empty() {
        let data = frame.data_mut();
        for (name, default) in new {
            data.variables.entry(name).or_insert(default);
        }
    }
    Ok(())
}
