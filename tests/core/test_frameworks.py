"""The tools in the frameworks that people use: each makes a tool of the plain functions, and calls it. No model, no network."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from looseleaf import Notebook
from looseleaf._run import run
from looseleaf.tools import SCHEMAS, AgentTool, agent_tools

pytestmark = pytest.mark.filterwarnings("ignore")  # what the frameworks warn of is not ours


@pytest.fixture
def tools(opened: Callable[..., Notebook], write: Callable[[str, str], Path]) -> dict[str, AgentTool]:
    """The tools of a notebook with one note, by name."""
    write("MEMORY.md", "# Machines\n\nThe gateway runs here.\n")
    notebook = opened()
    run(notebook.sync(), inline=True)
    return {tool.__name__: tool for tool in agent_tools(notebook, write=True)}


def paths(answer: Any) -> list[str]:
    return [hit["path"] for hit in answer["results"]]


def test_they_are_told_as_the_schemas_tell_them(tools: dict[str, AgentTool]) -> None:
    """Name, description and parameters; `from`, which Python cannot name, is `start`. Writing is opt-in."""
    assert set(tools) == set(SCHEMAS)
    for name, tool in tools.items():
        schema = SCHEMAS[name]
        assert tool.__doc__ == schema["description"]
        known = {"start" if key == "from" else key for key in schema["parameters"]["properties"]}
        assert set(inspect.signature(tool).parameters) == known
    notebook: Any = None
    assert [tool.__name__ for tool in agent_tools(notebook)] == ["memory_search", "memory_get"]


def test_pydantic_ai(tools: dict[str, AgentTool]) -> None:
    """An agent takes the functions as they are."""
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    calls = [
        ("memory_search", {"query": "gateway", "maxResults": 2}),
        ("memory_get", {"path": "MEMORY.md", "start": 3, "lines": 1}),
    ]
    returned: list[Any] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert {tool.name for tool in info.function_tools} == set(tools)
        returned.extend(part.content for part in messages[-1].parts if isinstance(part, ToolReturnPart))
        if len(returned) == len(calls):
            return ModelResponse(parts=[TextPart("done")])
        name, arguments = calls[len(returned)]
        return ModelResponse(parts=[ToolCallPart(name, arguments)])

    agent = Agent(FunctionModel(model), tools=list(tools.values()))
    assert asyncio.run(agent.run("where is the gateway?")).output == "done"
    assert paths(returned[0]) == ["MEMORY.md"]
    assert returned[1]["text"].startswith("The gateway runs here.")


def test_the_openai_agents_sdk(tools: dict[str, AgentTool]) -> None:
    """`function_tool` makes a strict schema of each and calls it with JSON."""
    from agents import function_tool
    from agents.tool_context import ToolContext

    async def called(name: str, arguments: dict[str, Any]) -> Any:
        tool = function_tool(tools[name])
        assert tool.name == name
        text = json.dumps(arguments)
        context = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=text)
        return await tool.on_invoke_tool(context, text)

    assert paths(asyncio.run(called("memory_search", {"query": "gateway"}))) == ["MEMORY.md"]
    assert "error" in asyncio.run(called("memory_get", {"path": "../secret.md"}))


def test_langgraph(tools: dict[str, AgentTool]) -> None:
    """LangChain's tools, called by LangGraph's tool node."""
    from langchain_core.messages import AIMessage
    from langchain_core.tools import StructuredTool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode

    made = [StructuredTool.from_function(coroutine=tool) for tool in tools.values()]
    assert {tool.name for tool in made} == set(tools)
    graph = StateGraph(MessagesState)
    graph.add_node("tools", ToolNode(made))
    graph.add_edge(START, "tools")
    graph.add_edge("tools", END)
    call = {"name": "memory_search", "args": {"query": "gateway", "path": "MEMORY.md"}, "id": "1", "type": "tool_call"}
    answer = asyncio.run(graph.compile().ainvoke({"messages": [AIMessage("", tool_calls=[call])]}))
    assert paths(json.loads(answer["messages"][-1].content)) == ["MEMORY.md"]
