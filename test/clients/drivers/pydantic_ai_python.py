import openai
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.messages import ThinkingPart
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.openai import OpenAIProvider

QUESTION = "Compare the weather in Paris and Rome."


class Visit(BaseModel):
    city: str
    n: int


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: sunny"


def agent(baseURL, model, **more):
    provider = OpenAIProvider(openai_client=openai.AsyncOpenAI(base_url=baseURL, api_key="none"))
    return Agent(OpenAIResponsesModel(model, provider=provider), instructions="Be brief.", **more)


async def text(**options):
    return (await agent(**options).run("Hi")).output


async def streamed(helper, prompt):
    async with helper.run_stream(prompt) as result:
        return await result.get_output()


async def stream(**options):
    return await streamed(agent(**options), "Hi")


async def tools(**options):
    return (await agent(**options, tools=[get_weather]).run(QUESTION)).output


async def tools_stream(**options):
    return await streamed(agent(**options, tools=[get_weather]), QUESTION)


async def structured(**options):
    return (await agent(**options, output_type=NativeOutput(Visit)).run("Hi")).output.model_dump()


async def reasoning(**options):
    settings = OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto")
    helper = agent(**options, model_settings=settings)
    first = await helper.run("Hi")
    parts = [part for message in first.all_messages() for part in message.parts]
    shown = "".join(part.content for part in parts if isinstance(part, ThinkingPart))
    return {"shown": shown, "text": (await helper.run("And now?", message_history=first.all_messages())).output}


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
