"""The interfaces of language models that coding agents speak: Anthropic's Messages, OpenAI's Responses, Gemini's contents.

Each reads a request as what its user says first and the results of tools that came since, and writes a move as its answer.
"""

import itertools
import json

NUMBERS = itertools.count(1)
STREAM = "text/event-stream"


class Use:
    """A tool that the model uses. `space` is what it belongs to, where the interface asks for that; a tool with a `text` is
    given that and no arguments."""

    def __init__(self, tool, *, space=None, text=None, **given):
        self.tool, self.space, self.text, self.given = tool, space, text, given


def text_of(content):
    """The text of a message, or of a result."""
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def streamed(events):
    return STREAM, "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def messages_read(request):
    users = [message["content"] for message in request["messages"] if message["role"] == "user"]
    parts = [part for content in users if isinstance(content, list) for part in content]
    results = [text_of(part.get("content")) for part in parts if part.get("type") == "tool_result"]
    return "\n".join(map(text_of, users[:1])), results


def messages_say(request, move):
    used = isinstance(move, Use)
    number = next(NUMBERS)
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": request.get("model", "scripted"),
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1},
    }  # fmt: skip
    if used:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": move.tool, "input": {}}
        delta, whole = {"type": "input_json_delta", "partial_json": json.dumps(move.given)}, {**block, "input": move.given}
    else:
        block = {"type": "text", "text": ""}
        delta, whole = {"type": "text_delta", "text": move}, {"type": "text", "text": move}
    ended = {"stop_reason": "tool_use" if used else "end_turn", "stop_sequence": None}
    if not request.get("stream"):
        return "application/json", json.dumps({**message, "content": [whole], **ended})
    return streamed([
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ])


def responses_read(request):
    users = [text_of(item["content"]) for item in request["input"] if item.get("role") == "user"]
    outputs = [item.get("output") for item in request["input"] if item.get("type", "").endswith("_output")]
    return "\n".join(users), [text_of(output) for output in outputs]


def responses_say(_request, move):
    number = next(NUMBERS)
    call = {"call_id": f"call_{number}", "status": "completed"}
    if not isinstance(move, Use):
        content = [{"type": "output_text", "text": move, "annotations": []}]
        item = {"type": "message", "role": "assistant", "status": "completed", "content": content}
    elif move.text is not None:
        item = {"type": "custom_tool_call", "name": move.tool, "input": move.text, **call}
    else:
        item = {"type": "function_call", "name": move.tool, "arguments": json.dumps(move.given), **call}
        item.update({"namespace": move.space} if move.space else {})
    item["id"] = f"item_{number}"
    response = {"id": f"resp_{number}", "object": "response"}
    usage = {
        "input_tokens": 1, "output_tokens": 1, "total_tokens": 2, "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }  # fmt: skip
    ended = {**response, "status": "completed", "output": [item], "usage": usage}
    return streamed([
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": ended},
    ])


def gemini_read(request):
    parts = [(content.get("role"), part) for content in request["contents"] for part in content.get("parts", [])]
    said = [part["text"] for role, part in parts if role == "user" and "text" in part]
    answers = [part["functionResponse"].get("response", {}) for _, part in parts if "functionResponse" in part]
    return "\n".join(said), [str(answer.get("output", answer.get("error", answer))) for answer in answers]


def gemini_chunk(move):
    part = {"functionCall": {"name": move.tool, "args": move.given}} if isinstance(move, Use) else {"text": move}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return json.dumps({"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"})


def gemini_stream(_request, move):
    return STREAM, f"data: {gemini_chunk(move)}\n\n"


def gemini_whole(_request, move):
    return "application/json", gemini_chunk(move)


# How the path of a request ends, how it is read, and how it is answered.
INTERFACES = [
    ("/messages", messages_read, messages_say),
    ("/responses", responses_read, responses_say),
    (":streamGenerateContent", gemini_read, gemini_stream),
    (":generateContent", gemini_read, gemini_whole),
]
