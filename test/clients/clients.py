"""openai, openai-agents, langchain-openai, pydantic-ai:  python3 test/clients/clients.py [base URL]"""

import asyncio
import json
import sys

import agents
import openai
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import NativeOutput
from pydantic_ai.models.openai import OpenAIResponsesModel as PydanticModel
from pydantic_ai.models.openai import OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

BASE_URL = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:10000/v1"
QUESTION = "Compare the weather in Paris and Rome."
ANSWERS = ["Paris: sunny", "Rome: sunny"]
failed = False


class Visit(BaseModel):
    city: str
    n: int


def weather(city: str) -> str:
    return f"{city}: sunny"


WEATHER_TOOL = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
    "strict": True,
}


async def outcome_of(scenario):
    outcome = scenario()
    return await outcome if asyncio.iscoroutine(outcome) else outcome


async def check(name, expected, scenario):
    """Runs a scenario; what it gives must contain every text of `expected`."""
    global failed
    try:
        outcome = str(await outcome_of(scenario))
        missing = [text for text in expected if text not in outcome]
        if missing:
            raise AssertionError(f"{missing} is not in “{outcome[:300]}”")
        print(f"ok    {name}", flush=True)
    except Exception as error:  # every failure is a line of the report
        failed = True
        print(f"FAIL  {name}: {type(error).__name__} {error}", flush=True)


async def failure_of(scenario):
    try:
        return f"no failure but {await outcome_of(scenario)}"
    except Exception as error:
        return f"{getattr(error, 'status_code', '')} {error}"


def client():
    return openai.OpenAI(base_url=BASE_URL, api_key="none", max_retries=0)


def async_client():
    return openai.AsyncOpenAI(base_url=BASE_URL, api_key="none", max_retries=0)


async def check_openai():
    def stream(model, **more):
        with client().responses.stream(model=model, input="Hello", **more) as events:
            for _ in events:
                pass
            return events.get_final_response().output_text

    def tools():
        history = [{"role": "user", "content": QUESTION}]
        response = client().responses.create(model="demo", input=history, tools=[WEATHER_TOOL], store=False)
        history += response.output
        for item in response.output:
            if item.type == "function_call":
                output = weather(**json.loads(item.arguments))
                history.append({"type": "function_call_output", "call_id": item.call_id, "output": output})
        return client().responses.create(model="demo", input=history, tools=[WEATHER_TOOL]).output_text

    def create(model):
        return client().responses.create(model=model, input="Hello").output_text

    await check("openai-python: create", ["You said: Hello"], lambda: create("demo"))
    await check("openai-python: stream", ["You said: Hello"], lambda: stream("demo"))
    await check("openai-python: two parallel tools", ANSWERS, tools)
    await check(
        "openai-python: parse",
        ["n=1"],
        lambda: client().responses.parse(model="demo", input="Hello", text_format=Visit).output_parsed,
    )
    await check("openai-python: parse, streamed", ['"n":1'], lambda: stream("demo", text_format=Visit))
    await check(
        "openai-python: reasoning, streamed",
        ["You said: Hello"],
        lambda: stream("demo-reasoning", reasoning={"effort": "low"}),
    )
    await check("openai-python: 429", ["429", "try again in"], lambda: failure_of(lambda: create("demo-error-429")))


async def check_agents():
    agents.set_tracing_disabled(True)
    get_weather = agents.function_tool(weather, name_override="get_weather")

    def agent(model, **more):
        model = agents.OpenAIResponsesModel(model=model, openai_client=async_client())
        return agents.Agent(name="helper", instructions="Be brief.", model=model, **more)

    async def run(*args, **more):
        return (await agents.Runner.run(agent(*args, **more), QUESTION)).final_output

    async def streamed(*args, **more):
        result = agents.Runner.run_streamed(agent(*args, **more), QUESTION)
        async for _ in result.stream_events():
            pass
        return result.final_output

    await check("agents-python: run", ["You said: Compare"], lambda: run("demo"))
    await check("agents-python: two parallel tools", ANSWERS, lambda: run("demo", tools=[get_weather]))
    await check("agents-python: tools, streamed", ANSWERS, lambda: streamed("demo", tools=[get_weather]))
    await check("agents-python: output type", ["n=1"], lambda: run("demo", output_type=Visit))
    await check("agents-python: reasoning and tools", ANSWERS, lambda: run("demo-reasoning", tools=[get_weather]))
    await check("agents-python: 429", ["429", "try again in"], lambda: failure_of(lambda: run("demo-error-429")))


async def check_langchain():
    def chat(model, **more):
        return ChatOpenAI(model=model, base_url=BASE_URL, api_key="none", use_responses_api=True, max_retries=0, **more)

    def joined(pieces):
        whole = None
        for piece in pieces:
            whole = piece if whole is None else whole + piece
        return whole

    def tools(ask):
        model = chat("demo").bind_tools(
            [{"type": "function", "function": {key: WEATHER_TOOL[key] for key in ("name", "parameters")}}]
        )
        messages = [HumanMessage(QUESTION)]
        messages.append(ask(model, messages))
        for call in messages[-1].tool_calls:
            messages.append(ToolMessage(weather(**call["args"]), tool_call_id=call["id"]))
        return model.invoke(messages).text

    def reasoning():
        model = chat(
            "demo-reasoning", reasoning={"effort": "low"}, include=["reasoning.encrypted_content"], store=False
        )
        return model.invoke([HumanMessage("Hello"), model.invoke("Hello"), HumanMessage("Again")]).text

    await check("langchain-python: invoke", ["You said: Hello"], lambda: chat("demo").invoke("Hello").text)
    await check("langchain-python: stream", ["You said: Hello"], lambda: joined(chat("demo").stream("Hello")).text)
    await check(
        "langchain-python: two parallel tools", ANSWERS, lambda: tools(lambda model, messages: model.invoke(messages))
    )
    await check(
        "langchain-python: tools, streamed",
        ANSWERS,
        lambda: tools(lambda model, messages: joined(model.stream(messages))),
    )
    await check(
        "langchain-python: structured output",
        ["n=1"],
        lambda: chat("demo").with_structured_output(Visit).invoke("Hello"),
    )
    await check("langchain-python: reasoning, given back", ["You said: Again"], reasoning)
    await check(
        "langchain-python: 429",
        ["429", "try again in"],
        lambda: failure_of(lambda: chat("demo-error-429").invoke("Hello")),
    )


async def check_pydantic_ai():
    def agent(model, **more):
        return PydanticAgent(PydanticModel(model, provider=OpenAIProvider(openai_client=async_client())), **more)

    async def run(model, prompt, **more):
        return (await agent(model, **more).run(prompt)).output

    async def tools():
        helper = agent("demo")
        helper.tool_plain(weather, name="get_weather")
        return (await helper.run(QUESTION)).output

    async def stream():
        async with agent("demo-reasoning").run_stream("Hello") as result:
            return await result.get_output()

    async def reasoning():
        settings = OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto")
        helper = agent("demo-reasoning", model_settings=settings)
        first = await helper.run("Hello")
        return (await helper.run("Again", message_history=first.all_messages())).output

    await check("pydantic-ai: run", ["You said: Hello"], lambda: run("demo", "Hello"))
    await check("pydantic-ai: two parallel tools", ANSWERS, tools)
    await check("pydantic-ai: output as a tool", ["n=1"], lambda: run("demo", "Hello", output_type=Visit))
    await check(
        "pydantic-ai: output as a schema", ["n=1"], lambda: run("demo", "Hello", output_type=NativeOutput(Visit))
    )
    await check("pydantic-ai: stream", ["You said: Hello"], stream)
    await check("pydantic-ai: reasoning, given back", ["You said: Again"], reasoning)
    await check("pydantic-ai: 429", ["429", "try again in"], lambda: failure_of(lambda: run("demo-error-429", "Hello")))


async def main():
    await check_openai()
    await check_agents()
    await check_langchain()
    await check_pydantic_ai()


asyncio.run(main())
sys.exit(1 if failed else 0)
