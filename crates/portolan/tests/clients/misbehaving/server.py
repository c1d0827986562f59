"""A small MCP server on standard input and output: `server.py NAME CALLS` has the tools of the server NAME, and appends each
call that reaches it to the file CALLS. The server `person` is whom Claude Code asks where a person has to decide."""

import json
import sys
from pathlib import Path

from agent import SERVERS, person_agrees

SHAPE = {"type": "object", "additionalProperties": True}


def done(tool, given):
    """What a tool says. Of all that they could do, only files are written."""
    if tool == "write_file":
        Path(given["path"]).write_text(given["content"])
    if tool == "decide":
        agreed = {"behavior": "allow", "updatedInput": given["input"]}
        return json.dumps(agreed if person_agrees(given["input"]) else {"behavior": "deny", "message": "the person says no"})
    return "done"


def answer(name, calls, method, given):
    """The result of a request. `None` if there is no such method."""
    if method == "initialize":
        about = {"serverInfo": {"name": name, "version": "1"}, "capabilities": {"tools": {}}}
        return {"protocolVersion": given["protocolVersion"], **about}
    if method == "tools/list":
        tools = SERVERS.get(name, ["decide"])
        return {"tools": [{"name": tool, "description": f"`{tool}` of {name}", "inputSchema": SHAPE} for tool in tools]}
    if method == "tools/call":
        tool, arguments = given["name"], given.get("arguments", {})
        with calls.open("a") as file:
            file.write(json.dumps([f"{name}/{tool}", arguments]) + "\n")
        return {"content": [{"type": "text", "text": done(tool, arguments)}]}
    return None


def main(name, calls):
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answer(name, Path(calls), message["method"], message.get("params", {}))
            said = {"error": {"code": -32601, "message": "no such method"}} if result is None else {"result": result}
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
