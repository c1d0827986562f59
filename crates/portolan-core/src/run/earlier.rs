//! Events in the earlier journal formats, in which each kind of effect was settled by an event of its own.

use std::fmt;

use serde::de::value::StringDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, EnumAccess, MapAccess, VariantAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

use super::effect::{EffectId, EffectPart, EffectResult};
use super::{Completion, EventKind, FramePath, Reply, ToolCallResult, Verdict};
use crate::value::{CheckId, NodeId};

/// Reads an event of this format or of an earlier one. The first key decides, so that nothing is parsed twice.
pub(super) fn event_kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EventKind, D::Error> {
    deserializer.deserialize_map(AnyFormat)
}

/// The fields of the earlier settlements; each had some of them.
#[derive(Deserialize)]
struct At {
    frame: FramePath,
    since: u64,
    #[serde(default)]
    seed: u64,
}

#[derive(Deserialize)]
struct SettledEvent {
    effect: CheckName,
    verdict: Verdict,
}

#[derive(Deserialize)]
struct CheckName {
    frame: FramePath,
    node: NodeId,
    since: u64,
    check: CheckId,
}

#[derive(Deserialize)]
struct ReturnedEvent {
    #[serde(flatten)]
    at: At,
    reply: Reply,
}

#[derive(Deserialize)]
struct CompletedEvent {
    #[serde(flatten)]
    at: At,
    turn: u32,
    #[serde(default)]
    vote: Option<u32>,
    reply: Completion,
}

#[derive(Deserialize)]
struct ToolDone {
    #[serde(flatten)]
    at: At,
    call: String,
    done: ToolCallResult,
}

impl At {
    fn settled(self, part: EffectPart, result: EffectResult) -> EventKind {
        let At { frame, since, seed } = self;
        EventKind::Settled { effect: EffectId { frame, node: NodeId::from(""), since, part }, result, seed }
    }
}

impl From<SettledEvent> for EventKind {
    fn from(SettledEvent { effect, verdict }: SettledEvent) -> EventKind {
        let CheckName { frame, node, since, check } = effect;
        let effect = EffectId { frame, node, since, part: EffectPart::Check(check) };
        EventKind::Settled { effect, result: EffectResult::Verdict(verdict), seed: 0 }
    }
}

impl From<ReturnedEvent> for EventKind {
    fn from(ReturnedEvent { at, reply }: ReturnedEvent) -> EventKind {
        at.settled(EffectPart::Node, EffectResult::Reply(reply))
    }
}

impl From<CompletedEvent> for EventKind {
    fn from(CompletedEvent { at, turn, vote, reply }: CompletedEvent) -> EventKind {
        let part = match vote {
            Some(judge) => EffectPart::Vote { turn, judge },
            None => EffectPart::Request(turn),
        };
        at.settled(part, EffectResult::Completion(reply))
    }
}

impl From<ToolDone> for EventKind {
    fn from(ToolDone { at, call, done }: ToolDone) -> EventKind {
        at.settled(EffectPart::Tool(call), EffectResult::Tool { done })
    }
}

struct AnyFormat;

impl<'de> Visitor<'de> for AnyFormat {
    type Value = EventKind;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an event: an object with the event's kind as its only key")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EventKind, A::Error> {
        let kind: String = map.next_key()?.ok_or_else(|| de::Error::custom("an event must have a kind"))?;
        match kind.as_str() {
            "settled" => map.next_value::<SettledEvent>().map(EventKind::from),
            "returned" => map.next_value::<ReturnedEvent>().map(EventKind::from),
            "completed" => map.next_value::<CompletedEvent>().map(EventKind::from),
            "tool_done" => map.next_value::<ToolDone>().map(EventKind::from),
            "continued" => map.next_value::<At>().map(|at| at.settled(EffectPart::Node, EffectResult::Due)),
            "timed_out" => map.next_value::<At>().map(|at| at.settled(EffectPart::Timer, EffectResult::Due)),
            _ => EventKind::deserialize(Present { kind, map }),
        }
    }
}

/// An event of this format whose key has been read.
struct Present<A> {
    kind: String,
    map: A,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Present<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> EnumAccess<'de> for Present<A> {
    type Error = A::Error;
    type Variant = Content<A>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Content<A>), A::Error> {
        let kind: StringDeserializer<A::Error> = de::IntoDeserializer::into_deserializer(self.kind);
        Ok((seed.deserialize(kind)?, Content(self.map)))
    }
}

/// The value under that key.
struct Content<A>(A);

impl<'de, A: MapAccess<'de>> VariantAccess<'de> for Content<A> {
    type Error = A::Error;

    fn unit_variant(mut self) -> Result<(), A::Error> {
        self.0.next_value()
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, _visitor: V) -> Result<V::Value, A::Error> {
        Err(de::Error::custom("an event kind cannot be a list"))
    }

    fn struct_variant<V: Visitor<'de>>(
        mut self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(Fields(visitor))
    }
}

/// The fields of a kind of event.
struct Fields<V>(V);

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Fields<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        deserializer.deserialize_map(self.0)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use crate::run::Event;

    /// Checks that an event of an earlier journal is read as the given event of this format.
    #[track_caller]
    fn read(what: &str, told: Expect) {
        let text = format!(r#"{{"at":1,"by":"engine","what":{what}}}"#);
        let event: Event = serde_json::from_str(&text).expect("an earlier journal is read");
        let now = serde_json::to_string(&event).expect("an event is JSON");
        let again: Event = serde_json::from_str(&now).expect("and so is one of this format");
        assert_eq!(event, again);
        told.assert_eq(&serde_json::to_string(&event.what).expect("an event is JSON"));
    }

    #[test]
    fn each_sort_of_effect_was_settled_by_an_event_of_its_own() {
        read(
            r#"{"settled":{"effect":{"frame":["a"],"node":"verify","since":4,"check":"tests"},"verdict":"held"}}"#,
            expect![[
                r#"{"effect_settled":{"effect":{"frame":["a"],"node":"verify","since":4,"part":{"check":"tests"}},"result":{"verdict":"held"},"seed":0}}"#
            ]],
        );
        read(
            r#"{"continued":{"frame":[],"since":7,"seed":12}}"#,
            expect![[
                r#"{"effect_settled":{"effect":{"frame":[],"node":"","since":7,"part":"node"},"result":"due","seed":12}}"#
            ]],
        );
        read(
            r#"{"returned":{"frame":[],"since":7,"reply":{"output":{"a":0.1}},"seed":12}}"#,
            expect![[
                r#"{"effect_settled":{"effect":{"frame":[],"node":"","since":7,"part":"node"},"result":{"reply":{"output":{"a":0.1}}},"seed":12}}"#
            ]],
        );
        read(
            r#"{"completed":{"frame":[],"since":7,"turn":2,"reply":{"output":{"output":1}},"seed":3}}"#,
            expect![[
                r#"{"effect_settled":{"effect":{"frame":[],"node":"","since":7,"part":{"request":2}},"result":{"completion":{"output":{"output":1}}},"seed":3}}"#
            ]],
        );
        read(
            r#"{"completed":{"frame":[],"since":7,"turn":2,"vote":1,"reply":{"output":{"output":1}}}}"#,
            expect![[
                r#"{"effect_settled":{"effect":{"frame":[],"node":"","since":7,"part":{"vote":{"turn":2,"judge":1}}},"result":{"completion":{"output":{"output":1}}},"seed":0}}"#
            ]],
        );
        read(
            r#"{"tool_done":{"frame":[],"since":7,"call":"call-1-0","done":{"failed":"no"}}}"#,
            expect![[
                r#"{"effect_settled":{"effect":{"frame":[],"node":"","since":7,"part":{"tool":"call-1-0"}},"result":{"tool":{"done":{"failed":"no"}}},"seed":0}}"#
            ]],
        );
        read(
            r#"{"timed_out":{"frame":[],"since":7}}"#,
            expect![[
                r#"{"effect_settled":{"effect":{"frame":[],"node":"","since":7,"part":"timer"},"result":"due","seed":0}}"#
            ]],
        );
        read(r#"{"begun":{"revision":3}}"#, expect![[r#"{"begun":{"revision":3}}"#]]);
    }

    #[test]
    fn what_is_no_event_is_refused() {
        for what in [r#"{}"#, r#"{"nothing":{}}"#, r#""begun""#, r#"{"returned":{"frame":[]}}"#, "[]"] {
            let text = format!(r#"{{"at":1,"by":"engine","what":{what}}}"#);
            assert!(serde_json::from_str::<Event>(&text).is_err(), "{what}");
        }
    }
}
