//! Every workflow of the catalogue, led to its end by an agent that does as it is told.

use serde_json::{Value, json};

use crate::support::{Chance, Obedient, Project, Wire};

/// The workflows of the catalogue, of which the project has versions that believe what they are told.
fn catalogue(wire: &mut Wire, project: &Project) -> Vec<String> {
    let listed = wire.done("ListWorkflows", &json!({ "source": "catalog" }));
    let ids = listed["workflows"].as_array().expect("workflows").iter();
    let ids: Vec<String> = ids.map(|workflow| workflow["id"].as_str().expect("an id").to_owned()).collect();
    assert_eq!(ids.len(), 18);
    // Phases are left when a repository shows it: no obedience is enough.
    let ids: Vec<String> = ids.into_iter().filter(|id| !["delivery", "sdlc-simple"].contains(&id.as_str())).collect();
    ids.iter().for_each(|id| project.believe(id));
    ids
}

fn agent<'a>(wire: &'a mut Wire, project: &'a Project, whims: usize, seed: u64) -> Obedient<'a> {
    Obedient { wire, project, seen: Vec::new(), whims, chance: Chance::of(seed) }
}

#[test]
fn every_workflow_ends_well_in_the_store() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    for id in catalogue(&mut wire, &project) {
        let opened = wire.done("Init", &json!({ "workflowType": id, "description": "a walk" }));
        let run = opened["run"].as_str().expect("a handle").to_owned();
        let mut agent = agent(&mut wire, &project, 0, 0);
        let ended = agent.lead(opened);
        assert_eq!(ended["terminal"], "success", "{id}: {ended:#}");
        assert!(ended["instructions"].as_str().is_some_and(|text| text.starts_with("## Complete")), "{id}");
        are_of_ordinary_size(&id, &agent.seen);
        let again = wire.done("Current", &json!({ "run": run }));
        assert_eq!(again["state"], "ended");
        wire.refused("Next", &json!({ "run": run, "result": "passed", "revision": 99 }), "stale");
        let over = json!({ "run": run, "result": "passed", "revision": again["position"]["revision"] });
        wire.refused("Next", &over, "no_outgoing_edges");
    }
    assert!(wire.leave().success());
}

#[test]
fn every_workflow_ends_well_in_a_task_file() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    for id in catalogue(&mut wire, &project) {
        let path = project.task(&id);
        let opened = wire.done("Init", &json!({ "taskFilePath": path, "workflowType": id, "description": "a walk" }));
        let mut agent = agent(&mut wire, &project, 0, 0);
        let ended = agent.lead(opened);
        assert_eq!(ended["terminal"], "success", "{id}: {ended:#}");
        are_of_ordinary_size(&id, &agent.seen);
        let task: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect("a file")).expect("JSON");
        assert_eq!(task["status"], "completed", "{id}");
        assert_eq!(task["activeForm"], "Completed", "{id}");
        assert_eq!(task["metadata"]["currentStep"], ended["currentStep"], "{id}");
        assert!(
            task["subject"].as_str().is_some_and(|text| text.ends_with(&format!("→ {id} · completed ✓"))),
            "{task}"
        );
    }
}

/// Whatever is offered is accepted, on the ways that fail too.
#[test]
fn whatever_is_offered_is_accepted() {
    let project = Project::new();
    let mut wire = project.client(&[]);
    for (nth, id) in catalogue(&mut wire, &project).iter().enumerate() {
        for carrier in ["store", "file"] {
            let mut init = json!({ "workflowType": id });
            if carrier == "file" {
                init["taskFilePath"] = json!(project.task(&format!("whims-{id}")));
            }
            let opened = wire.done("Init", &init);
            let ended = agent(&mut wire, &project, 25, nth as u64 + 1).lead(opened);
            assert_eq!(ended["actions"]["required"], json!([]), "{id} {carrier}");
        }
    }
}

/// What a step costs its reader. A fork lists its branches, and an action for each.
fn are_of_ordinary_size(id: &str, seen: &[Value]) {
    for answer in seen {
        let actions = crate::support::offered(answer).len();
        let size = answer.to_string().len();
        assert!(size < 2_400 + 300 * actions, "{size} bytes for {actions} actions in {id}: {answer:#}");
    }
}
