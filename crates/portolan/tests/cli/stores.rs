//! Stores that earlier versions have written: their open runs are shown, and go on.

use crate::calls::Calls;
use std::sync::Arc;

use expect_test::expect;
use portolan_runtime::drive::Outcome;
use portolan_runtime::service::{How, InterruptionPolicy};
use portolan_runtime::store::RunId;
use serde_json::json;

use crate::support::{Project, address};

/// A store in which each sort of effect is settled by an event of its own. Open are a gate that has failed once, a question
/// that answers itself, a graph that was killed between two nodes, and a state at its limit.
const SETTLED_BY_KIND: &[u8] = include_bytes!("../stores/settled-by-kind.db");

fn project() -> Project {
    let project = Project::new();
    project.write(".portolan/runs.db", SETTLED_BY_KIND);
    project
}

#[test]
fn the_open_runs_of_an_earlier_store_are_shown() {
    let project = project();
    expect![[r#"
        cswncse4  waiting    choose  first.go  <time>  choose
        2jtwh7yk  working    size    size      <time>
        umkpxfj7  working    mend    fix       <time>  mend it
        5st2yxny  cancelled  size    size      <time>
        a7sx7t6j  working    states  greet     <time>
        exit: 0
    "#]]
    .assert_eq(&project.says("runs list --all"));
    expect![[r#"
           1  <time>  agent ann opened `mend`
           2  <time>  agent ann began → now at `fix`
           3  <time>  agent ann reported passed → now at `check`
           4  <time>  agent ann reported passed → checks of `check`
           5  <time>  portolan checked `notes` of `check`: it did not hold: `notes.txt` does not exist → retry 1 of 1 for `check`, now at `fix`
        exit: 0
    "#]].assert_eq(&project.says("runs events umkpxfj7"));
    expect![[r#"
           1  <time>  agent ann opened `choose`
           2  <time>  agent ann began → now at `first.look`
           3  <time>  agent ann reported passed → `first.go` asks a person
        exit: 0
    "#]]
    .assert_eq(&project.says("runs events cswncse4"));
    expect![[r#"
           1  <time>  person unknown (command line) opened `size`
           2  <time>  portolan went on → executed `entry`, now at `info`
           3  <time>  portolan went on → call of `info`
           4  <time>  portolan took an answer → executed `info`, now at `size`
        exit: 0
    "#]]
    .assert_eq(&project.says("runs events 2jtwh7yk"));
    expect![[r#"
           1  <time>  person unknown (command line) opened `states`
           2  <time>  portolan went on → executed `start`, now at `greet`
           3  <time>  portolan went on → work on `greet`, attempt 1
           4  <time>  portolan heard the model → not accepted: `long` (`len(output) >= 10` does not hold), attempt 2, waits: the state has used 1 of 1 `model_calls`
        exit: 0
    "#]].assert_eq(&project.says("runs events a7sx7t6j"));
}

#[test]
fn the_open_runs_of_an_earlier_store_go_on() {
    let project = project();
    project.write("notes.txt", "twelve bytes");
    let address = address("umkpxfj7");
    let ended = project.agent(async |service, me| {
        let mut view = service.current(&address, None, me).await?;
        for _ in 0..2 {
            view = service.next(&crate::support::reported(&view, "passed"), me).await?;
        }
        Ok(view.terminal)
    });
    assert_eq!(ended.expect("what is offered is accepted"), Some("success"));
    // By a clock that stands before its opening: the time of the whole run would be up.
    let size = project.agent(async |service, _| {
        let run = RunId::parse("2jtwh7yk").expect("a handle");
        service.resume_function(&run, InterruptionPolicy::Ask, How::default()).await
    });
    assert_eq!(size.expect("it goes on").outcome, Outcome::Done(Some(Arc::new(json!({ "bytes": 12 })))));
    project.write("answers.yaml", "- text: Good morning, Ada\n");
    expect![[r#"
        "Good morning, Ada"
        stderr:   ✓ long
        stderr: ✓ greet  reached; 2 model calls, tokens unknown, cost unknown
        stderr: 2 model calls, tokens unknown, cost unknown
        exit: 0
    "#]]
    .assert_eq(&project.says("runs resume a7sx7t6j --go-on --model scripted:answers.yaml"));
    expect![[r#"
        cswncse4 · choose · last.tidy · working

        ## Tidy

        Note from `first.go`: "Go" was not answered in time: it counts as "Go on"

        → Call Next(passed) when complete.

        required  report `Tidy` passed  Next {"run":"cswncse4","result":"passed","revision":5}
        exit: 0
    "#]]
    .assert_eq(&project.says("runs show cswncse4"));
    expect![[r#"
           1  <time>  agent ann opened `choose`
           2  <time>  agent ann began → now at `first.look`
           3  <time>  agent ann reported passed → `first.go` asks a person
           4  <time>  portolan timed out waiting for an answer → now at `last`
           5  <time>  portolan went on → now at `last.tidy`
        exit: 0
    "#]]
    .assert_eq(&project.says("runs events cswncse4"));
}
