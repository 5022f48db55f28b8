import json

import openai
from pydantic import BaseModel

INSTRUCTIONS = "Be brief."
TOOLS = [
    {
        "type": "function",
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
        "strict": True,
    }
]


class Visit(BaseModel):
    city: str
    n: int


def responses(baseURL):
    return openai.OpenAI(base_url=baseURL, api_key="none").responses


def create(baseURL, model):
    return responses(baseURL).create(model=model, instructions=INSTRUCTIONS, input="Hi").output_text


def streamed(baseURL, **request):
    with responses(baseURL).stream(**request) as events:
        shown = "".join(event.delta for event in events if event.type == "response.reasoning_summary_text.delta")
        return events.get_final_response(), shown


def stream(baseURL, model):
    return streamed(baseURL, model=model, instructions=INSTRUCTIONS, input="Hi")[0].output_text


def tool_loop(ask):
    history = [{"role": "user", "content": "Compare the weather in Paris and Rome."}]
    first = ask(history)
    history += first.output
    for item in first.output:
        if item.type == "function_call":
            output = f"{json.loads(item.arguments)['city']}: sunny"
            history.append({"type": "function_call_output", "call_id": item.call_id, "output": output})
    return ask(history).output_text


def tools(baseURL, model):
    def ask(history):
        return responses(baseURL).create(model=model, instructions=INSTRUCTIONS, input=history, tools=TOOLS)

    return tool_loop(ask)


def tools_stream(baseURL, model):
    def ask(history):
        return streamed(baseURL, model=model, instructions=INSTRUCTIONS, input=history, tools=TOOLS)[0]

    return tool_loop(ask)


def structured(baseURL, model):
    answer = responses(baseURL).parse(model=model, instructions=INSTRUCTIONS, input="Hi", text_format=Visit)
    return answer.output_parsed.model_dump()


def reasoning(baseURL, model):
    settings = {
        "model": model,
        "instructions": INSTRUCTIONS,
        "reasoning": {"effort": "low", "summary": "auto"},
        "include": ["reasoning.encrypted_content"],
        "store": False,
    }
    first, shown = streamed(baseURL, input="Hi", **settings)
    history = [{"role": "user", "content": "Hi"}, *first.output, {"role": "user", "content": "And now?"}]
    return {"shown": shown, "text": responses(baseURL).create(input=history, **settings).output_text}


def compaction(baseURL, model):
    history = [{"role": "user", "content": "The code word is heron."}]
    compacted = responses(baseURL).compact(model=model, instructions=INSTRUCTIONS, input=history)
    types = [item.type for item in compacted.output]
    history = [*compacted.output, {"role": "user", "content": "What was it?"}]
    answer = responses(baseURL).create(model=model, instructions=INSTRUCTIONS, input=history)
    return {"types": types, "text": answer.output_text}


def input_tokens(baseURL, model):
    counted = responses(baseURL).input_tokens.count(model=model, instructions=INSTRUCTIONS, input="Hi", tools=TOOLS)
    return counted.input_tokens


def history(baseURL, model):
    items = [
        {"role": "user", "content": "Which bird is it?"},
        {
            "type": "web_search_call",
            "id": "ws_1",
            "status": "completed",
            "action": {"type": "search", "query": "grey bird with long legs"},
        },
        {
            "type": "code_interpreter_call",
            "id": "ci_1",
            "status": "completed",
            "container_id": "cntr_1",
            "code": "print(6 * 7)",
            "outputs": [{"type": "logs", "logs": "42"}],
        },
        {"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "aGVyb24="},
        {"role": "assistant", "content": "A heron."},
        {"role": "user", "content": "Sure?"},
    ]
    return responses(baseURL).create(model=model, instructions=INSTRUCTIONS, input=items).output_text


def websocket(baseURL, model):
    settings = {"model": model, "instructions": INSTRUCTIONS, "tools": TOOLS, "store": False}
    with responses(baseURL).connect() as connection:

        def turn(**request):
            connection.response.create(**settings, **request)
            for event in connection:
                if event.type == "error":
                    raise RuntimeError(event.error.message)
                if event.type == "response.completed":
                    return event.response

        first = turn(input=[{"role": "user", "content": "Compare the weather in Paris and Rome."}])
        results = [
            {
                "type": "function_call_output",
                "call_id": item.call_id,
                "output": f"{json.loads(item.arguments)['city']}: sunny",
            }
            for item in first.output
        ]
        return turn(previous_response_id=first.id, input=results).output_text


scenarios = {
    "websocket": websocket,
    "text": create,
    "stream": stream,
    "tools": tools,
    "tools-stream": tools_stream,
    "structured": structured,
    "reasoning": reasoning,
    "compaction": compaction,
    "history": history,
    "input-tokens": input_tokens,
    "rate-limit": create,
    "error": create,
    "cut": stream,
}
