"""Leads a workflow to its end over HTTP with LangChain's adapter: langchain_walk.py ADDRESS TOKEN. It prints what it ended with."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(address, token):
    headers = {"Authorization": f"Bearer {token}"}
    client = MultiServerMCPClient({"portolan": {"transport": "streamable_http", "url": address, "headers": headers}})
    tools = {tool.name: tool for tool in await client.get_tools()}

    async def call(name, given):
        answer = await tools[name].ainvoke(given)
        text = answer if isinstance(answer, str) else answer[0]["text"]
        return json.loads(text)

    now = await call("Init", {"workflowType": "quick-task"})
    run = now["run"]
    while now["state"] != "ended":
        if not now["actions"]["required"]:
            now = await call("Current", {"run": run})
        action = now["actions"]["required"][0]
        now = await call(action["tool"], action["arguments"])
    print(now["terminal"])


asyncio.run(main(*sys.argv[1:]))
