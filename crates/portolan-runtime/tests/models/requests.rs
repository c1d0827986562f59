//! The exact requests that are sent.

use std::sync::Arc;

use expect_test::expect;
use portolan_core::chat::{Arguments, Message, ModelSettings, Request, Role, ToolUse};
use portolan_runtime::models::{Model, ModelQuestion, Sink, open};
use serde_json::{Value, json};

use crate::provider::{FakeProvider, Said, Turn};
use crate::support::{Heard, block_on, setup, tools};

/// A conversation that has everything in it.
fn talk(extra: Option<Value>) -> Request {
    let call =
        |id: &str, arguments: Arguments| ToolUse { id: id.into(), name: "search".into(), arguments, extra: None };
    let json = |value: Value| Arguments::Json(value.into());
    let asks = Message {
        content: None,
        tool_calls: vec![
            ToolUse {
                extra: extra.as_ref().map(|_| json!({"openai": {"extra_content": {"s": 1}}})),
                ..call("1", json(json!({"q": "maps"})))
            },
            call("2", Arguments::Text("{\"q\": ".into())),
        ],
        extra,
        ..Message::text(Role::Assistant, "")
    };
    Request {
        model: None,
        messages: Arc::new(
            [
                Message::text(Role::System, "Be brief."),
                Message::text(Role::User, "Where?"),
                asks,
                Message::of_tool("1", "here"),
                Message::of_tool("2", "error: no JSON"),
                Message::text(Role::User, "And?"),
                Message::text(Role::Assistant, "There."),
                Message::text(Role::User, "Sure?"),
            ]
            .map(Arc::new)
            .to_vec(),
        ),
        tools: Arc::new(vec!["search".into()]),
        settings: ModelSettings {
            temperature: Some(serde_json::from_str("0.2").expect("a number")),
            max_tokens: Some(100),
            reasoning: None,
        },
        answer_schema: Some(Arc::new(json!({"type": "object", "properties": {"a": {"type": "string"}},
            "required": ["a"], "additionalProperties": false}))),
    }
}

/// What is sent: the path, the headers that matter, and the body.
fn sent(model: &str, request: &Request, is_stream: bool) -> String {
    let provider = FakeProvider::new([Turn::Says(Said::text("Yes."))]);
    let model: Arc<dyn Model> = open(model, &setup(&provider.origin)).expect("a model");
    let heard = Heard::default();
    let tools = if request.tools.is_empty() { Vec::new() } else { tools() };
    let question = ModelQuestion { request, tools: &tools, asker: None };
    block_on(model.ask(question, is_stream.then_some(&heard as &dyn Sink))).expect("an answer");
    let seen = provider.requests();
    let [seen] = seen.as_slice() else { panic!("{} requests", seen.len()) };
    let mut text = format!("{}\n", seen.path);
    for name in ["accept", "anthropic-version", "authorization", "content-type", "user-agent", "x-api-key"] {
        seen.headers.get(name).iter().for_each(|value| text.push_str(&format!("{name}: {value}\n")));
    }
    text.push_str(&serde_json::to_string_pretty(&seen.body).expect("JSON"));
    text.push('\n');
    text
}

#[test]
#[expect(clippy::too_many_lines, reason = "the bodies of requests are shown whole")]
fn openai_gets_chat_completions() {
    let extra = json!({"openai": {"reasoning_content": "hm", "role": "system"}, "anthropic": {"thoughts": [1]}});
    expect![[r#"
        /v1/chat/completions
        accept: application/json
        authorization: Bearer sk-secret-0123456789ABCDEF
        content-type: application/json
        user-agent: portolan/0.1.0
        {
          "model": "m",
          "messages": [
            {
              "role": "system",
              "content": "Be brief."
            },
            {
              "role": "user",
              "content": "Where?"
            },
            {
              "role": "assistant",
              "content": null,
              "tool_calls": [
                {
                  "id": "1",
                  "type": "function",
                  "function": {
                    "name": "search",
                    "arguments": "{\"q\":\"maps\"}"
                  },
                  "extra_content": {
                    "s": 1
                  }
                },
                {
                  "id": "2",
                  "type": "function",
                  "function": {
                    "name": "search",
                    "arguments": "{\"q\": "
                  }
                }
              ],
              "reasoning_content": "hm"
            },
            {
              "role": "tool",
              "content": "here",
              "tool_call_id": "1"
            },
            {
              "role": "tool",
              "content": "error: no JSON",
              "tool_call_id": "2"
            },
            {
              "role": "user",
              "content": "And?"
            },
            {
              "role": "assistant",
              "content": "There."
            },
            {
              "role": "user",
              "content": "Sure?"
            }
          ],
          "tools": [
            {
              "type": "function",
              "function": {
                "name": "search",
                "description": "looks things up",
                "parameters": {
                  "type": "object",
                  "properties": {
                    "q": {
                      "type": "string"
                    }
                  },
                  "required": [
                    "q"
                  ]
                }
              }
            }
          ],
          "temperature": 0.2,
          "max_tokens": 100,
          "response_format": {
            "type": "json_schema",
            "json_schema": {
              "name": "answer",
              "schema": {
                "type": "object",
                "properties": {
                  "a": {
                    "type": "string"
                  }
                },
                "required": [
                  "a"
                ],
                "additionalProperties": false
              },
              "strict": true
            }
          }
        }
    "#]]
    .assert_eq(&sent("openai:m", &talk(Some(extra)), false));
}

#[test]
#[expect(clippy::too_many_lines, reason = "the bodies of requests are shown whole")]
fn anthropic_gets_messages() {
    let thoughts = json!([{"type": "thinking", "thinking": "hm", "signature": "s"}]);
    let extra = json!({"openai": {"reasoning_content": "hm"}, "anthropic": {"thoughts": thoughts}});
    expect![[r#"
        /v1/messages
        accept: application/json
        anthropic-version: 2023-06-01
        content-type: application/json
        user-agent: portolan/0.1.0
        x-api-key: sk-secret-0123456789ABCDEF
        {
          "model": "claude-sonnet-4-5",
          "max_tokens": 100,
          "system": "Be brief.",
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "Where?"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "thinking",
                  "thinking": "hm",
                  "signature": "s"
                },
                {
                  "type": "tool_use",
                  "id": "1",
                  "name": "search",
                  "input": {
                    "q": "maps"
                  }
                },
                {
                  "type": "tool_use",
                  "id": "2",
                  "name": "search",
                  "input": {
                    "unreadable": "{\"q\": "
                  }
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "tool_result",
                  "tool_use_id": "1",
                  "content": "here"
                },
                {
                  "type": "tool_result",
                  "tool_use_id": "2",
                  "content": "error: no JSON"
                },
                {
                  "type": "text",
                  "text": "And?"
                }
              ]
            },
            {
              "role": "assistant",
              "content": [
                {
                  "type": "text",
                  "text": "There."
                }
              ]
            },
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "Sure?"
                }
              ]
            }
          ],
          "tools": [
            {
              "name": "search",
              "description": "looks things up",
              "input_schema": {
                "type": "object",
                "properties": {
                  "q": {
                    "type": "string"
                  }
                },
                "required": [
                  "q"
                ]
              }
            }
          ],
          "output_config": {
            "format": {
              "type": "json_schema",
              "schema": {
                "type": "object",
                "properties": {
                  "a": {
                    "type": "string"
                  }
                },
                "required": [
                  "a"
                ],
                "additionalProperties": false
              }
            }
          },
          "temperature": 0.2
        }
    "#]]
    .assert_eq(&sent("anthropic:claude-sonnet-4-5", &talk(Some(extra)), false));
}

#[test]
fn little_is_sent_where_little_is_said() {
    let request = crate::support::user("Hello?");
    let mut all = String::new();
    for model in ["openai:m", "anthropic:m", "ollama:llama3", "gemini:gemini-2.5-flash"] {
        all.push_str(&sent(model, &request, true));
    }
    expect![[r#"
        /v1/chat/completions
        accept: text/event-stream
        authorization: Bearer sk-secret-0123456789ABCDEF
        content-type: application/json
        user-agent: portolan/0.1.0
        {
          "model": "m",
          "messages": [
            {
              "role": "user",
              "content": "Hello?"
            }
          ],
          "stream": true,
          "stream_options": {
            "include_usage": true
          }
        }
        /v1/messages
        accept: text/event-stream
        anthropic-version: 2023-06-01
        content-type: application/json
        user-agent: portolan/0.1.0
        x-api-key: sk-secret-0123456789ABCDEF
        {
          "model": "m",
          "max_tokens": 8192,
          "messages": [
            {
              "role": "user",
              "content": [
                {
                  "type": "text",
                  "text": "Hello?"
                }
              ]
            }
          ],
          "stream": true
        }
        /v1/chat/completions
        accept: text/event-stream
        content-type: application/json
        user-agent: portolan/0.1.0
        {
          "model": "llama3",
          "messages": [
            {
              "role": "user",
              "content": "Hello?"
            }
          ],
          "stream": true,
          "stream_options": {
            "include_usage": true
          }
        }
        /v1/chat/completions
        accept: text/event-stream
        authorization: Bearer sk-secret-0123456789ABCDEF
        content-type: application/json
        user-agent: portolan/0.1.0
        {
          "model": "gemini-2.5-flash",
          "messages": [
            {
              "role": "user",
              "content": "Hello?"
            }
          ],
          "stream": true,
          "stream_options": {
            "include_usage": true
          }
        }
    "#]]
    .assert_eq(&all);
}

#[test]
fn thinking_is_asked_for_in_the_words_of_each() {
    let mut all = String::new();
    for model in ["openai:m", "anthropic:claude-sonnet-4-5", "anthropic:claude-opus-4-6"] {
        for reasoning in ["minimal", "high", "3000", "none"] {
            let settings = ModelSettings { reasoning: Some(reasoning.into()), ..ModelSettings::default() };
            let request = Request { settings, ..crate::support::user("Hello?") };
            let text = sent(model, &request, false);
            let body: Value = serde_json::from_str(&text[text.find("\n{").expect("a body")..]).expect("JSON");
            let told: Vec<String> = ["reasoning_effort", "thinking", "output_config", "max_tokens"]
                .iter()
                .filter_map(|key| Some(format!("{key} {}", body.get(*key)?)))
                .collect();
            all.push_str(&format!("{model} {reasoning}: {}\n", told.join(", ")));
        }
    }
    expect![[r#"
        openai:m minimal: reasoning_effort "minimal"
        openai:m high: reasoning_effort "high"
        openai:m 3000: reasoning_effort "medium"
        openai:m none: reasoning_effort "none"
        anthropic:claude-sonnet-4-5 minimal: thinking {"type":"enabled","budget_tokens":1024}, max_tokens 9216
        anthropic:claude-sonnet-4-5 high: thinking {"type":"enabled","budget_tokens":16384}, max_tokens 24576
        anthropic:claude-sonnet-4-5 3000: thinking {"type":"enabled","budget_tokens":3000}, max_tokens 11192
        anthropic:claude-sonnet-4-5 none: max_tokens 8192
        anthropic:claude-opus-4-6 minimal: thinking {"type":"adaptive"}, output_config {"effort":"low"}, max_tokens 8192
        anthropic:claude-opus-4-6 high: thinking {"type":"adaptive"}, output_config {"effort":"high"}, max_tokens 8192
        anthropic:claude-opus-4-6 3000: thinking {"type":"adaptive"}, output_config {"effort":"medium"}, max_tokens 8192
        anthropic:claude-opus-4-6 none: max_tokens 8192
    "#]]
    .assert_eq(&all);
}

#[test]
fn a_schema_with_room_in_it_is_not_held_to_the_letter() {
    let schema = Some(Arc::new(json!({"type": "object", "properties": {"a": {}}})));
    let request = Request { answer_schema: schema, ..crate::support::user("Hello?") };
    let text = sent("openai:m", &request, false);
    assert!(text.contains("json_schema") && !text.contains("strict"), "{text}");
}

/// The end of a name is no setting, and what stands before a colon is no provider.
#[test]
fn a_model_is_asked_for_by_its_whole_name() {
    for name in ["some-model-high", "some-model-none", "vendor::some-model", "some-model:free"] {
        for provider in ["openai", "anthropic", "ollama"] {
            let text = sent(&format!("{provider}:{name}"), &crate::support::user("Hello?"), false);
            let body: Value = serde_json::from_str(&text[text.find("\n{").expect("a body")..]).expect("JSON");
            assert_eq!(body["model"], name, "{provider}");
            for setting in ["reasoning_effort", "thinking", "output_config"] {
                assert!(body.get(setting).is_none(), "{provider}:{name} {text}");
            }
        }
    }
}
