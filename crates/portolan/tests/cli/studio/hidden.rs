//! What a definition hides is in nothing that the studio tells, whatever a run has made of it.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Studio;
use super::described::DESCRIPTION;
use super::events::Stream;
use crate::support::{Project, address};

const SECRET: &str = "tell-nobody-7f3a";

/// A graph that passes its secret on under other names, and fails with it.
const VAULT: &str = r#"version: "1.0"
server: {name: vault, version: "1"}
tools:
  - name: vault
    description: Opens a vault
    inputSchema:
      type: object
      properties: {pin: {type: string, writeOnly: true}, who: {type: string}}
      required: [pin, who]
    outputSchema: {type: object}
    nodes:
      - {id: entry, type: entry, next: try}
      - {id: try, type: mcp, server: echo, tool: echo, args: {said: {expr: $.entry.pin}}, next: copy}
      - {id: copy, type: transform, transform: {expr: '{"text": "it is " & $.entry.pin & " of " & $.entry.who}'}, next: open}
      - {id: open, type: mcp, server: echo, tool: fail, args: {message: {expr: '"wrong pin " & $.try.said'}}, next: exit}
      - {id: exit, type: exit}
"#;

/// States whose model repeats the secret, as does its judge, before a person is asked.
const GREETING: &str = r#"
objective: A greeting
redact: [pin]
input_schema: {type: object, properties: {pin: {type: string}, name: {type: string}}}
states:
  draft:
    objective: Greet the person
    max_retries: 1
    key_results:
      - {name: kind, description: it is kind}
    set: {kept: {expr: output}}
  approve: {ask: May the greeting be sent?, options: [send, again]}
  send: {objective: The end, is_final: true}
transitions: {draft: approve, approve: {send: send, again: draft}}
"#;

fn answers(word: &str) -> String {
    let judged = |reason: &str, met: bool| {
        let verdict = json!({ "criterion": "kind", "reason": reason, "evidence": word, "met": met });
        json!({ "json": { "verdicts": [verdict] } })
    };
    let told = format!("it tells {word}");
    let first = [json!({ "text": format!("Hello {word}") }), judged(&told, false)];
    let second = [json!({ "text": format!("Dear Ada, {word}") }), judged(&told, true)];
    first.iter().chain(&second).map(|answer| format!("- {answer}\n")).collect()
}

fn project() -> Project {
    let project = Project::new();
    project.write(".flow/workflows/vault.yaml", VAULT);
    project.write(".flow/workflows/greeting.yaml", GREETING);
    project.write(".flow/workflows/openly.yaml", GREETING.replace("redact: [pin]\n", ""));
    project.write("answers.yaml", answers(SECRET));
    project
}

/// States of which a command checks what the model says, and prints the secret from a file.
const CHECKED: &str = r#"
objective: A greeting
redact: [pin]
input_schema: {type: object, properties: {pin: {type: string}, name: {type: string}}}
states:
  draft:
    objective: Greet the person
    max_retries: 1
    key_results:
      - {name: fits, description: it fits, run: [sh, -c, "echo saw $(cat pin.txt); exit 1"]}
    on_failure: ask
    is_final: true
"#;

/// Tries states, with a model whose answers are written down, up to the question.
fn greeted(project: &Project, studio: &Studio, id: &str, pin: &str) -> String {
    let model = format!("scripted:{}", project.path().join("answers.yaml").display());
    let wanted = json!({ "input": { "pin": pin, "name": "Ada" }, "model": model });
    let run = studio.begun(id, &wanted);
    assert_eq!(studio.at_rest(&run)["status"], "waiting");
    run
}

/// A run as what is asked about it needs it.
struct Told {
    run: String,
    head: u64,
    nodes: Vec<String>,
}

impl Told {
    fn of(studio: &Studio, run: &str) -> Told {
        let drawn = studio.post(&format!("/runs/{run}/drawing"), &json!({})).json();
        let nodes = drawn["drawing"]["nodes"].as_array().expect("nodes").iter();
        let nodes = nodes.map(|node| node["id"].as_str().expect("an id").replace('/', "%2F")).collect();
        let head = studio.get(&format!("/runs/{run}")).json()["head"].as_u64().expect("a number");
        Told { run: run.to_owned(), head, nodes }
    }

    /// All paths of this run that a described one stands for.
    fn paths(&self, described: &str) -> Vec<String> {
        let path = described.replace("{run}", &self.run);
        let moments = || (1..=self.head).map(|seq| seq.to_string());
        if path.contains("{seq}") {
            moments().map(|seq| path.replace("{seq}", &seq)).collect()
        } else if path.contains("{node}") {
            let of_node = |node: &String| {
                let path = path.replace("{node}", node);
                let earlier: Vec<String> = moments().map(|seq| format!("{path}?at={seq}")).collect();
                [vec![path], earlier].concat()
            };
            self.nodes.iter().flat_map(of_node).collect()
        } else {
            vec![path]
        }
    }
}

/// Asks for everything that can be asked for, and returns the described paths whose replies mask something. A path that
/// comes to be described is asked for as well.
fn looked_through(studio: &Studio, runs: &[&str]) -> BTreeSet<&'static str> {
    let runs: Vec<Told> = runs.iter().map(|run| Told::of(studio, run)).collect();
    let (mut masking, mut told) = (BTreeSet::new(), Vec::new());
    let paths = DESCRIPTION["paths"].as_object().expect("paths");
    for described in paths.iter().filter(|(_, methods)| methods.get("get").is_some()).map(|(path, _)| path) {
        let asked = match described.as_str() {
            // It does not end, and is read elsewhere.
            "/events" => continue,
            path if path.contains("{run}") => runs.iter().flat_map(|told| told.paths(path)).collect(),
            path if path.contains("{id}") => ["vault", "greeting"].map(|id| path.replace("{id}", id)).to_vec(),
            path => vec![path.to_owned()],
        };
        for path in asked {
            assert!(!path.contains('{'), "this test does not know what to ask for at `{path}`");
            let answer = studio.get(&path);
            assert_eq!(answer.status, 200, "{path}: {}", answer.body);
            if let Some(at) = answer.body.find(SECRET) {
                told.push(format!("{path}: {}", excerpt(&answer.body, at)));
            }
            if answer.body.contains("[redacted]") {
                masking.insert(described.as_str());
            }
        }
    }
    assert!(told.is_empty(), "it is told:\n{}", told.join("\n"));
    masking
}

/// A little of what stands around a place.
fn excerpt(text: &str, at: usize) -> String {
    let before: Vec<char> = text[..at].chars().rev().take(120).collect();
    before.into_iter().rev().chain(text[at..].chars().take(40)).collect()
}

/// What is in the journal itself.
fn kept(project: &Project, run: &str) -> String {
    let records = project.agent(async |service, _| service.page(&address(run), 0, usize::MAX).await);
    serde_json::to_string(&records.expect("they are read")).expect("they are JSON")
}

fn masks(masking: &BTreeSet<&str>, paths: &[&str]) {
    for path in paths {
        assert!(masking.contains(path), "nothing is masked at `{path}`: {masking:?}");
    }
}

#[test]
fn what_a_graph_is_given_in_confidence_is_in_no_reply() {
    let project = project();
    let studio = Studio::of(&project, &[]);
    let mut stream = studio.events("", None);
    let breakpoint = json!({ "node": "open", "when": "$number(entry.pin) > 1" });
    let wanted = json!({ "input": { "pin": SECRET, "who": "Ada" }, "breakpoints": [breakpoint] });
    let run = studio.begun("vault", &wanted);
    // The condition has no value, and the reason repeats what it was evaluated over.
    let fault = studio.at_rest(&run)["driven"]["fault"].clone();
    assert!(fault.as_str().is_some_and(|fault| fault.contains("'[redacted]'")), "{fault}");
    let set = json!({ "set": { "values": { "copy": { "text": format!("now {SECRET}") } } } });
    let paused = studio.post(&format!("/runs/{run}/control"), &set);
    assert!(paused.status == 200 && !paused.body.contains(SECRET), "{}", paused.body);
    let at_the_breakpoint = looked_through(&studio, &[&run]);
    masks(&at_the_breakpoint, &["/runs/{run}", "/runs/{run}/at/{seq}", "/runs/{run}/records/{seq}"]);

    studio.control(&run, &json!({ "do": "resume" }));
    assert_eq!(studio.at_rest(&run)["status"], "failure");
    assert!(kept(&project, &run).contains(&format!("wrong pin {SECRET}")), "the run went on with it");
    let afterwards = looked_through(&studio, &[&run]);
    let shown = ["/halts", "/runs/{run}", "/runs/{run}/answers", "/runs/{run}/at/{seq}", "/runs/{run}/nodes/{node}"];
    masks(&afterwards, &shown);
    masks(&afterwards, &["/runs/{run}/records", "/runs/{run}/records/{seq}"]);
    is_masked(&up_to_the_end(&mut stream, &studio, &run));
    // Another process reads it from the journal, and whoever was cut off is told all of it again.
    drop(studio);
    let studio = Studio::of(&project, &[]);
    assert_eq!(looked_through(&studio, &[&run]), afterwards);
    is_masked(&up_to_the_end(&mut studio.events("", Some("0")), &studio, &run));
}

/// What is told up to the last record of a run.
fn up_to_the_end(stream: &mut Stream, studio: &Studio, run: &str) -> Vec<String> {
    let head = Told::of(studio, run).head;
    stream.up_to(|name, data| name == "record" && data["run"] == run && data["seq"] == head)
}

fn is_masked(told: &[String]) {
    assert!(told.iter().all(|event| !event.contains(SECRET)), "{told:#?}");
    assert!(told.iter().any(|event| event.contains("[redacted]")), "{told:#?}");
}

#[test]
fn what_states_hide_is_in_no_reply_and_in_no_event() {
    let project = project();
    let studio = Studio::of(&project, &[]);
    let mut stream = studio.events("", None);
    let run = greeted(&project, &studio, "greeting", SECRET);
    assert!(kept(&project, &run).contains(&format!("Dear Ada, {SECRET}")), "the run went on with it");
    let masking = looked_through(&studio, &[&run]);
    masks(&masking, &["/inbox", "/runs/{run}/at/{seq}", "/runs/{run}/nodes/{node}", "/runs/{run}/records"]);
    masks(&masking, &["/runs/{run}/records/{seq}"]);
    let mut told = up_to_the_end(&mut stream, &studio, &run);
    // Where nothing is hidden, the model is heard while it speaks. By then nothing of the other run is on its way.
    let word = "for-everybody";
    project.write("answers.yaml", answers(word));
    let openly = greeted(&project, &studio, "openly", word);
    let is_heard = |name: &str, data: &Value| name == "said" && data["text"] == format!("Dear Ada, {word}");
    told.extend(stream.up_to(is_heard));
    is_masked(&told);
    let said: Vec<&String> = told.iter().filter(|event| event.starts_with("said ")).collect();
    assert!(said.iter().all(|event| event.contains(&openly)) && !said.is_empty(), "{said:#?}");
}

#[test]
fn a_question_about_what_is_hidden_is_answered_and_leads_on_without_it() {
    let project = project();
    let studio = Studio::of(&project, &[]);
    let run = greeted(&project, &studio, "greeting", SECRET);
    let question = studio.get("/inbox").json()["questions"][0].clone();
    assert_eq!(question["outputs"][0]["text"], Value::from("Dear Ada, [redacted]"), "{question:#}");
    let answer = json!({ "revision": question["revision"], "outcome": "again" });
    let answered = studio.post(&format!("/runs/{run}/answer"), &answer);
    assert!(answered.status == 200 && !answered.body.contains(SECRET), "{}", answered.body);
    let forked = studio.post(&format!("/runs/{run}/fork"), &json!({ "seq": 7 })).json();
    let fork = forked["run"].as_str().unwrap_or_else(|| panic!("{forked}")).to_owned();
    masks(&looked_through(&studio, &[&run, &fork]), &["/inbox", "/runs/{run}/at/{seq}", "/runs/{run}/records"]);
}

#[test]
#[cfg(unix)]
fn what_a_command_prints_of_what_is_hidden_is_in_no_reply() {
    let project = project();
    project.write(".flow/workflows/checked.yaml", CHECKED);
    project.write("pin.txt", SECRET);
    project.write("answers.yaml", "- text: Hello\n- text: Dear Ada\n");
    assert!(project.says("trust .flow/workflows/checked.yaml").ends_with("exit: 0\n"));
    let studio = Studio::of(&project, &[]);
    let mut stream = studio.events("", None);
    let run = greeted(&project, &studio, "checked", SECRET);
    assert!(kept(&project, &run).contains(&format!("saw {SECRET}")), "it was printed");
    masks(&looked_through(&studio, &[&run]), &["/runs/{run}/nodes/{node}", "/runs/{run}/records/{seq}"]);
    let told = up_to_the_end(&mut stream, &studio, &run);
    assert!(told.iter().all(|event| !event.contains(SECRET)), "{told:#?}");
}
