//! The deepest runs there can be are still read back.

use portolan_core::run::{EventKind, Place, Rules, WaitingFor};
use portolan_core::validate::MAX_SUBFLOW_DEPTH;
use serde_json::{Value, json};

use crate::walk::{Walk, broken, by_agent, by_person, repaired, reported, workflow};

#[test]
fn a_branch_and_a_subflow_in_every_flow_can_be_read_back() {
    let flow = |depth: usize| {
        let work = match depth + 1 {
            MAX_SUBFLOW_DEPTH => {
                json!({"type": "task", "accept": [{"id": "c0", "file": "x"}, {"id": "c1", "file": "x"}]})
            }
            inner => json!({"type": "subflow", "workflow": format!("flow{inner}")}),
        };
        fork(&format!("flow{depth}"), &[("a", work)], &[("split", "a"), ("a", "meet")])
    };
    let files: Vec<Value> = (0..MAX_SUBFLOW_DEPTH).map(flow).collect();
    let workflow = workflow(&files).expect("it is as deep as may be");
    let mut walk = Walk::open(&workflow, Rules::default());
    walk.happen(&by_agent(EventKind::Begun { revision: None })).expect("it begins");
    let (_, claim) = walk.offers().remove(0);
    walk.happen(&claim).expect("what is offered is accepted");
    let effect = walk.pending().remove(0);
    assert_eq!(effect.frame.0.len(), 2 * MAX_SUBFLOW_DEPTH - 1);
    walk.happen(&by_agent(effect.settled(broken(), 0))).expect("a verdict is never refused");
}

#[test]
fn forks_within_forks_end_with_a_person() {
    let forks: Vec<(String, String)> = (0..40).map(|depth| (format!("f{depth}"), format!("j{depth}"))).collect();
    let mut nodes =
        json!({"start": {"type": "start"}, "a": {"type": "task"}, "done": {"type": "end", "result": "success"}});
    let mut edges = vec![
        json!({"from": "start", "to": "f0"}),
        json!({"from": "f39", "to": "a"}),
        json!({"from": "a", "to": "j39"}),
    ];
    for (depth, (fork, join)) in forks.iter().enumerate() {
        nodes[fork] = json!({"type": "fork", "join": join});
        nodes[join] = json!({"type": "join", "fork": fork});
        if let Some((inner, inner_join)) = forks.get(depth + 1) {
            edges.push(json!({"from": fork, "to": inner}));
            edges.push(json!({"from": inner_join, "to": join}));
        }
    }
    edges.push(json!({"from": "j0", "to": "done"}));
    let file = json!({"id": "flow0", "nodes": nodes, "edges": edges});
    let workflow = repaired(&[file]).expect("lenient reading repairs forks within forks");
    let mut walk = Walk::open(&workflow, Rules::default());
    walk.happen(&by_agent(EventKind::Begun { revision: None })).expect("it begins");
    let (path, frame) = walk.run.positions()[0].clone();
    assert!(matches!(frame.place, Place::Waiting { on: WaitingFor::Progress, .. }), "{:?}", frame.place);
    walk.happen(&by_person(reported(&path, &"failed".into(), None))).expect("a person may give up");
}

fn fork(id: &str, branches: &[(&str, Value)], edges: &[(&str, &str)]) -> Value {
    let mut nodes = json!({
        "start": {"type": "start"},
        "split": {"type": "fork", "join": "meet"},
        "meet": {"type": "join", "fork": "split"},
        "done": {"type": "end", "result": "success"},
    });
    for (name, node) in branches {
        nodes[name] = node.clone();
    }
    let edges = [&[("start", "split")], edges, &[("meet", "done")]].concat();
    let edges: Vec<Value> = edges.into_iter().map(|(from, to)| json!({"from": from, "to": to})).collect();
    json!({"id": id, "nodes": nodes, "edges": edges})
}
