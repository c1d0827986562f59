//! Functions and models as whoever embeds Portolan uses them, without a workflow.

use std::num::NonZeroU32;
use std::sync::Arc;

use portolan_core::run::ToolCallResult;
use portolan_runtime::schemars::JsonSchema;
use portolan_runtime::service::How;
use portolan_runtime::states::{Assistant, FunctionError, Functions, Stop};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Says, definition, done, how, ran, tool};

/// Where it is looked for.
#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "portolan_runtime::schemars")]
enum Place {
    Web,
    Library,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "portolan_runtime::schemars")]
struct Look {
    /// The words.
    words: Vec<String>,
    place: Option<Place>,
    #[serde(default)]
    most: u8,
}

#[derive(Serialize)]
struct Hits {
    hits: Vec<String>,
}

fn looking() -> Functions {
    let look = |look: Look| async move {
        let place = look.place.map_or("nowhere", |place| match place {
            Place::Web => "web",
            Place::Library => "library",
        });
        Ok(Hits { hits: look.words.iter().map(|word| format!("{word} at {place}, {}", look.most)).collect() })
    };
    Functions::default().typed("look", "Looks for words", look).expect("an object")
}

fn asked(lines: &[&'static str], functions: Functions) -> (Arc<Says>, Assistant) {
    let model = Says::of(lines);
    let How { workers, .. } = how(&model, Functions::default());
    (model, Assistant::new(workers.cast).functions(functions))
}

#[test]
fn the_schema_of_a_tool_is_derived_from_the_type_of_its_arguments() {
    let functions = looking();
    let spec = functions.specs().next().expect("there is one");
    let parameters = &spec.parameters;
    assert_eq!(parameters["required"], json!(["words"]));
    assert_eq!(parameters["properties"]["words"]["items"], json!({ "type": "string" }));
    assert_eq!(parameters["properties"]["words"]["description"], "The words.");
    assert_eq!(parameters["$defs"]["Place"]["enum"], json!(["Web", "Library"]));
    assert!(parameters["properties"]["place"].to_string().contains("null"));
    assert_eq!((parameters.get("$schema"), parameters.get("title")), (None, None));
    let none = Functions::default().typed("bare", "takes a number", |n: u8| async move { Ok(n) });
    assert!(none.err().expect("no object").message.contains("are not an object"));
}

#[tokio::test]
async fn a_registry_answers_for_itself_and_holds_callers_to_its_schemas() {
    let functions = looking();
    let call = async |arguments: Value| functions.call("look", &arguments).await.expect("it is known");
    let sound = call(json!({ "words": ["a"], "place": "Web" })).await;
    assert_eq!(sound, ToolCallResult::Output(Arc::new(json!({ "hits": ["a at web, 0"] }))));
    for wrong in [
        json!({}),
        json!({ "words": "a" }),
        json!({ "words": [], "place": "Moon" }),
        json!({ "words": [], "most": 300 }),
    ] {
        assert!(matches!(call(wrong.clone()).await, ToolCallResult::Failed(_)), "{wrong}");
    }
    assert!(functions.call("find", &json!({})).await.is_err());
    assert_eq!(Functions::default().specs().count(), 0, "each registry is its own");
}

#[tokio::test]
async fn a_model_is_asked_with_tools_until_it_answers() {
    let (model, assistant) = asked(&["> look {\"words\": [\"x\"]}", "> look {", "> find {}", "found"], looking());
    let answered = assistant.run_with_tools("be brief", "find x").await.expect("it answers");
    assert_eq!(answered.text, "found");
    assert_eq!((answered.spend.model_calls, answered.spend.tool_calls, answered.messages.len()), (4, 3, 9));
    assert_eq!(
        model.asked(),
        [
            "find x [\"look\"]",
            "{\"hits\":[\"x at nowhere, 0\"]} [\"look\"]",
            "Error: the arguments are not valid JSON [\"look\"]",
            "Error: there is no tool `find` [\"look\"]"
        ]
    );
}

#[tokio::test]
async fn too_many_turns_are_no_answer() {
    let lines = ["> look {\"words\": []}"; 3];
    let (_, assistant) = asked(&lines, looking());
    let stop =
        assistant.turns(NonZeroU32::new(2).expect("two")).run_with_tools("", "go").await.expect_err("it goes on");
    assert_eq!(stop.to_string(), "the model was asked 2 times and still uses tools; allow it more turns");
    let Stop::Turns(so_far) = stop else { panic!("{stop:?}") };
    assert_eq!(so_far.spend.model_calls, 2);
    let (_, assistant) = asked(&["!refused-key"], looking());
    assert!(matches!(assistant.run_with_tools("", "go").await, Err(Stop::Unanswered(_))));
    let (_, assistant) = asked(&["never asked"], looking());
    let Err(Stop::Unanswered(why)) = assistant.offering(["find"]).run_with_tools("", "go").await else { panic!() };
    assert_eq!(why.code, "unknown-tool");
}

#[tokio::test]
async fn tools_that_stop_hand_back_the_conversation() {
    let functions = looking().breaking("look");
    let (_, assistant) = asked(&["> look {\"words\": [\"x\"]}", "thanks"], functions);
    let stop = assistant.run_with_tools("", "go").await.expect_err("it stops");
    assert_eq!(stop.to_string(), "the tool `look` stops; continue with its conversation");
    let Stop::Tool { so_far, output, waits, .. } = stop else { panic!("{stop:?}") };
    assert_eq!((waits, output), (false, Arc::new(json!({ "hits": ["x at nowhere, 0"] }))));
    let mut messages = so_far.messages.clone();
    messages.push(Arc::new(portolan_core::chat::Message::of_tool("x", "do it")));
    assert_eq!(assistant.go_on(messages).await.expect("it answers").text, "thanks");
}

#[tokio::test]
async fn a_tool_that_waits_has_the_run_wait() {
    let model = Says::of(&["> look {\"words\": []}", "ok"]);
    let definition = definition(|state| state.tools = vec![tool("look")]);
    let outcome = ran(&definition, how(&model, looking().waiting("look"))).await;
    assert_eq!(super::waits(outcome), "work");
    let model = Says::of(&["> look {\"words\": []}", "ok"]);
    assert_eq!(ran(&definition, how(&model, looking())).await, done(json!("ok")));
    let fails =
        Functions::default().typed("look", "fails", |_: Look| async { Err::<(), _>(FunctionError::new("closed")) });
    let model = Says::of(&["> look {\"words\": []}", "ok"]);
    assert_eq!(ran(&definition, how(&model, fails.expect("an object"))).await, done(json!("ok")));
    assert!(model.asked()[1].starts_with("Error: closed"));
}
