import agents
import openai
from openai.types.shared import Reasoning
from pydantic import BaseModel

agents.set_tracing_disabled(True)
QUESTION = "Compare the weather in Paris and Rome."


class Visit(BaseModel):
    city: str
    n: int


@agents.function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: sunny"


def model_of(baseURL, model):
    client = openai.AsyncOpenAI(base_url=baseURL, api_key="none")
    return agents.OpenAIResponsesModel(model=model, openai_client=client)


def agent(options, **more):
    return agents.Agent(name="helper", instructions="Be brief.", model=model_of(**options), **more)


async def streamed(options, given="Hi", **more):
    result = agents.Runner.run_streamed(agent(options, **more), given)
    async for _ in result.stream_events():
        pass
    return result


async def text(**options):
    return (await agents.Runner.run(agent(options), "Hi")).final_output


async def stream(**options):
    return (await streamed(options)).final_output


async def tools(**options):
    return (await agents.Runner.run(agent(options, tools=[get_weather]), QUESTION)).final_output


async def tools_stream(**options):
    return (await streamed(options, QUESTION, tools=[get_weather])).final_output


async def structured(**options):
    return (await agents.Runner.run(agent(options, output_type=Visit), "Hi")).final_output.model_dump()


async def reasoning(**options):
    settings = agents.ModelSettings(
        store=False,
        reasoning=Reasoning(effort="low", summary="auto"),
        response_include=["reasoning.encrypted_content"],
    )
    first = await streamed(options, model_settings=settings)
    shown = "".join(
        part.text for item in first.new_items if item.type == "reasoning_item" for part in item.raw_item.summary
    )
    history = [*first.to_input_list(), {"role": "user", "content": "And now?"}]
    second = await agents.Runner.run(agent(options, model_settings=settings), history)
    return {"shown": shown, "text": second.final_output}


scenarios = {
    "text": text,
    "stream": stream,
    "tools": tools,
    "tools-stream": tools_stream,
    "structured": structured,
    "reasoning": reasoning,
    "rate-limit": text,
    "error": text,
    "cut": stream,
}
