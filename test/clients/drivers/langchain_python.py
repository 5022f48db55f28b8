from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Visit(BaseModel):
    city: str
    n: int


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"{city}: sunny"


def chat(baseURL, model, **more):
    return ChatOpenAI(model=model, base_url=baseURL, api_key="none", use_responses_api=True, **more)


def prompt(text):
    return [SystemMessage("Be brief."), HumanMessage(text)]


def streamed(model, messages):
    whole = None
    for piece in model.stream(messages):
        whole = piece if whole is None else whole + piece
    return whole


def invoke(model, messages):
    return model.invoke(messages)


def text(**options):
    return chat(**options).invoke(prompt("Hi")).text


def stream(**options):
    return streamed(chat(**options), prompt("Hi")).text


def tool_loop(options, ask, offered=(get_weather,)):
    model = chat(**options).bind_tools([*offered])
    messages = prompt("Compare the weather in Paris and Rome.")
    messages.append(ask(model, messages))
    for call in messages[-1].tool_calls:
        messages.append(ToolMessage(get_weather(**call["args"]), tool_call_id=call["id"]))
    return ask(model, messages).text


def tool_search(**options):
    deferred = tool(get_weather, extras={"defer_loading": True})
    return tool_loop(options, invoke, [{"type": "tool_search"}, deferred])


def structured(**options):
    return chat(**options).with_structured_output(Visit).invoke(prompt("Hi")).model_dump()


def reasoning(**options):
    model = chat(
        **options,
        reasoning={"effort": "low", "summary": "auto"},
        include=["reasoning.encrypted_content"],
        store=False,
        output_version="responses/v1",
    )
    first = streamed(model, prompt("Hi"))
    parts = [part for part in first.content if part["type"] == "reasoning"]
    shown = "".join(summary["text"] for part in parts for summary in part["summary"])
    return {"shown": shown, "text": model.invoke([*prompt("Hi"), first, HumanMessage("And now?")]).text}


scenarios = {
    "text": text,
    "stream": stream,
    "tools": lambda **options: tool_loop(options, invoke),
    "tools-stream": lambda **options: tool_loop(options, streamed),
    "tool-search": tool_search,
    "structured": structured,
    "reasoning": reasoning,
    "rate-limit": text,
    "error": text,
    "cut": stream,
}
