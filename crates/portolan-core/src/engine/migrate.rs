//! A run is carried over to a later version of its workflow, where everything that it names is still there.

use std::mem::discriminant;

use super::fits;
use super::weakened::unchanged_so_far;
use crate::graph::{Kind, Variable, Workflow};
use crate::run::{Change, Frame, FramePath, Place, Run};

/// The run as one of `now`, where it was one of `then`. Variables keep their values, and new ones begin with their
/// defaults; nothing else of the run changes.
///
/// # Errors
/// Why it cannot be carried over: a node that it is at is gone or is something else, a variable takes its value no more,
/// or a check, a gate or a question on the way so far was added, changed or taken away.
pub fn migrate(then: &Workflow, now: &Workflow, run: &Run) -> Result<Run, String> {
    fits(now, run)
        .map_err(|misfit| format!("there is no such place as `{}` in `{}` any more", misfit.node, misfit.flow))?;
    unchanged_so_far(then, now, &run.root)?;
    let mut run = run.clone();
    carry(then, now, &mut run.root, true)?;
    Ok(run)
}

/// What has to become true of `run` so that it is what [`migrate`] made of it: new variables have their defaults.
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
        return Err(format!("`{node}` was one of the {was}s, and is one of the {is}s now"));
    }
    if let (Kind::Loop(was), Kind::Loop(is)) =
        (&then.flow(&frame.flow).step(node).node.kind, &now.flow(&frame.flow).step(node).node.kind)
        && discriminant(&was.kind) != discriminant(&is.kind)
    {
        return Err(format!("the loop `{node}` goes by something else now"));
    }
    if owns_variables {
        variables(then, now, frame)?;
    }
    let is_flow = matches!(frame.place, Place::Within { .. } | Place::Each { .. });
    // A branch shares the variables of its flow, and a pass of a loop has only its item.
    frame.inner_frames_mut().into_iter().try_for_each(|inner| carry(then, now, inner, is_flow))
}

fn variables(then: &Workflow, now: &Workflow, frame: &mut Frame) -> Result<(), String> {
    let (before, flow) = (then.flow(&frame.flow), now.flow(&frame.flow));
    let known = frame.data.iter().flat_map(|data| &data.variables);
    for (name, value) in known {
        match flow.variable(name) {
            Some(variable) if variable.kind.takes(value) => {}
            Some(variable) => return Err(format!("`{name}` is {} now", variable.kind.described())),
            // What a dialect itself remembers of a run is declared nowhere.
            None if before.variable(name).is_none() => {}
            None => return Err(format!("there is no variable `{name}` any more")),
        }
    }
    let lacks = |it: &&Variable| {
        it.required
            && it.default.is_none()
            && frame.data.as_ref().is_none_or(|data| !data.variables.contains_key(&it.name.value))
    };
    if let Some(lacking) = flow.variables.iter().find(lacks) {
        return Err(format!("`{}` is required now, and the run has none", lacking.name.value));
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
