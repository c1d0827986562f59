//! Filters what a server returned before a client gets it: masks secrets, leaves out media, and cuts long texts.

use portolan_gates::plugins::ResultFilter;
use portolan_runtime::audit::secrets;
use serde_json::{Value, json};

/// Applies filters to the result of a call.
pub(super) fn apply(filters: &[ResultFilter], mut result: Value) -> Value {
    for filter in filters {
        if filter.redact {
            redact(&mut result);
        }
        if filter.drop_media {
            drop_media(&mut result);
        }
        if let Some(most) = filter.max_bytes {
            cut(&mut result, most);
        }
    }
    result
}

/// Masks secrets in all texts of the content. Other fields are not texts of the server.
fn redact(result: &mut Value) {
    for field in ["content", "structuredContent", "contents", "messages"] {
        if let Some(value) = result.get_mut(field) {
            mask(value);
        }
    }
}

/// Masks everything that looks like a secret.
pub(super) fn mask(value: &mut Value) {
    match value {
        Value::String(text) => *text = secrets::masked(text),
        Value::Array(items) => items.iter_mut().for_each(mask),
        Value::Object(fields) => {
            let is_media = fields.contains_key("mimeType");
            for (name, field) in fields.iter_mut() {
                match field {
                    // The data of media is no text.
                    Value::String(_) if name == "blob" || name == "mimeType" || is_media && name == "data" => {}
                    Value::String(_) | Value::Number(_) if secrets::is_secret_name(name) => {
                        *field = portolan_core::present::MASK.into()
                    }
                    field => mask(field),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Replaces images and audio by a note.
fn drop_media(result: &mut Value) {
    for block in blocks(result) {
        let kind = block["type"].as_str().unwrap_or_default().to_owned();
        let is_blob = block["resource"].get("blob").is_some();
        if kind == "image" || kind == "audio" || is_blob {
            let kind = if is_blob { "resource" } else { &kind };
            *block = json!({ "type": "text", "text": format!("[{kind} left out by Portolan]") });
        }
    }
    for contents in listed(result, "contents") {
        if let Some(fields) = contents.as_object_mut().filter(|fields| fields.contains_key("blob")) {
            fields.remove("blob");
            fields.insert("mimeType".to_owned(), json!("text/plain"));
            fields.insert("text".to_owned(), json!("[resource left out by Portolan]"));
        }
    }
}

fn listed<'a>(result: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    result.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// Returns the blocks of a tool's result and of a prompt's messages.
fn blocks(result: &mut Value) -> Vec<&mut Value> {
    let Some(fields) = result.as_object_mut() else { return Vec::new() };
    let mut found = Vec::new();
    for (name, value) in fields.iter_mut() {
        let items = value.as_array_mut().into_iter().flatten();
        match name.as_str() {
            "content" => found.extend(items),
            "messages" => found.extend(items.filter_map(|message| message.get_mut("content"))),
            _ => {}
        }
    }
    found
}

/// Cuts the texts so that all together have at most this many bytes, and in the same way those of the structured content,
/// which keeps its form.
fn cut(result: &mut Value, most: usize) {
    let mut left = most;
    blocks(result).into_iter().filter_map(text_of).for_each(|text| cut_text(text, &mut left));
    listed(result, "contents").filter_map(text_of).for_each(|text| cut_text(text, &mut left));
    if let Some(value) = result.get_mut("structuredContent") {
        cut_value(value, &mut { most });
    }
}

fn cut_value(value: &mut Value, left: &mut usize) {
    match value {
        Value::String(text) => cut_text(text, left),
        Value::Array(items) => items.iter_mut().for_each(|item| cut_value(item, left)),
        Value::Object(fields) => fields.values_mut().for_each(|field| cut_value(field, left)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Cuts a text at what is left of a number of bytes, and says how long it was.
pub(super) fn cut_text(text: &mut String, left: &mut usize) {
    let all = text.len();
    if all > *left {
        text.truncate(text.floor_char_boundary(*left));
        *text += &format!("… [cut by Portolan: {all} bytes in all]");
    }
    *left = left.saturating_sub(all);
}

/// Returns the text of a block or a resource: its own, or that of an embedded resource.
fn text_of(block: &mut Value) -> Option<&mut String> {
    let holder = if block.get("resource").is_some() { block.get_mut("resource")? } else { block };
    match holder.get_mut("text") {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered(filter: ResultFilter, result: Value) -> Value {
        apply(&[filter], result)
    }

    #[test]
    fn secrets_are_masked_in_texts_and_in_values() {
        let result = json!({ "content": [
            { "type": "text", "text": "password=hunter2hunter2 and more" },
            { "type": "resource", "resource": { "uri": "x:y", "text": "DB_PASSWORD=hunter2" } },
            { "type": "image", "data": "AKIAIOSFODNN7EXAMPLE", "mimeType": "image/png" }],
            "structuredContent": { "apiKey": "x1", "rows": [{ "note": "AKIAIOSFODNN7EXAMPLE" }] }, "isError": false });
        let filter = ResultFilter { redact: true, ..ResultFilter::default() };
        let expected = json!({ "content": [
            { "type": "text", "text": "password=[redacted] and more" },
            { "type": "resource", "resource": { "uri": "x:y", "text": "DB_PASSWORD=[redacted]" } },
            { "type": "image", "data": "AKIAIOSFODNN7EXAMPLE", "mimeType": "image/png" }],
            "structuredContent": { "apiKey": "[redacted]", "rows": [{ "note": "[redacted]" }] }, "isError": false });
        assert_eq!(filtered(filter, result), expected);
    }

    #[test]
    fn media_are_left_out_and_texts_are_cut() {
        let result = json!({ "content": [
            { "type": "text", "text": "ééé" }, { "type": "audio", "data": "AAAA", "mimeType": "audio/wav" },
            { "type": "resource", "resource": { "uri": "x:y", "blob": "AAAA" } },
            { "type": "text", "text": "more" }], "structuredContent": { "a": "0123456789" } });
        let filter = ResultFilter { drop_media: true, ..ResultFilter::default() };
        let media = filtered(filter, result.clone());
        let texts: Vec<&str> = (0..4).filter_map(|at| media["content"][at]["text"].as_str()).collect();
        assert_eq!(texts, ["ééé", "[audio left out by Portolan]", "[resource left out by Portolan]", "more"]);
        let filter = ResultFilter { max_bytes: Some(5), ..ResultFilter::default() };
        let cut = filtered(filter, result);
        assert_eq!(cut["content"][0]["text"], "éé… [cut by Portolan: 6 bytes in all]");
        assert_eq!(cut["content"][3]["text"], "… [cut by Portolan: 4 bytes in all]");
        assert_eq!(cut["content"][1]["data"], "AAAA");
        assert_eq!(cut["structuredContent"]["a"], "01234… [cut by Portolan: 10 bytes in all]");
        let read = json!({ "contents": [{ "uri": "a:b", "blob": "AAAA", "mimeType": "image/png" }],
            "messages": [{ "role": "user", "content": { "type": "text", "text": "0123456789" } }] });
        let filter = ResultFilter { drop_media: true, max_bytes: Some(5), ..ResultFilter::default() };
        let expected = json!({ "contents": [{ "uri": "a:b", "mimeType": "text/plain",
                "text": "… [cut by Portolan: 31 bytes in all]" }],
            "messages": [{ "role": "user", "content": { "type": "text",
                "text": "01234… [cut by Portolan: 10 bytes in all]" } }] });
        assert_eq!(filtered(filter, read), expected, "resources and prompts are filtered in the same way");
        for odd in [json!(null), json!([1]), json!({ "content": 3 }), json!({ "content": [null, 7] })] {
            let all = ResultFilter { redact: true, drop_media: true, max_bytes: Some(1), ..ResultFilter::default() };
            let _no_panic = filtered(all, odd);
        }
    }
}
