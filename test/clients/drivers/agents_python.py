import agents
import openai
from agents.run_config import SandboxRunConfig
from agents.sandbox import SandboxAgent
from agents.sandbox.sandboxes import UnixLocalSandboxClient
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


async def tool_search(**options):
    @agents.function_tool(defer_loading=True)
    def get_weather(city: str) -> str:
        """The weather in a city."""
        return f"{city}: sunny"

    found = agent(options, tools=[get_weather, agents.ToolSearchTool()])
    return (await agents.Runner.run(found, QUESTION)).final_output


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


async def shell(**options):
    ran = []

    def execute(request):
        ran.extend(request.data.action.commands)
        return agents.ShellResult(output=[agents.ShellCommandOutput(stdout="heron\n")])

    result = await agents.Runner.run(agent(options, tools=[agents.ShellTool(executor=execute)]), "Hi")
    return {"text": result.final_output, "ran": ran}


async def local_shell(**options):
    ran = []

    def execute(request):
        ran.append(request.data.action.command)
        return "heron\n"

    result = await agents.Runner.run(agent(options, tools=[agents.LocalShellTool(executor=execute)]), "Hi")
    return {"text": result.final_output, "ran": ran}


class Editor:
    def __init__(self):
        self.files = {}

    def create_file(self, operation):
        self.files[operation.path] = agents.apply_diff("", operation.diff, "create")
        return agents.ApplyPatchResult(status="completed", output=f"Wrote {operation.path}.")

    def update_file(self, operation):
        raise NotImplementedError

    def delete_file(self, operation):
        raise NotImplementedError


async def apply_patch(**options):
    editor = Editor()
    result = await agents.Runner.run(agent(options, tools=[agents.ApplyPatchTool(editor=editor)]), "Hi")
    return {"text": result.final_output, "files": editor.files}


async def compaction(**options):
    session = agents.OpenAIResponsesCompactionSession(
        session_id="test",
        underlying_session=agents.SQLiteSession("test"),
        client=openai.AsyncOpenAI(base_url=options["baseURL"], api_key="none"),
        model="gpt-agents-python",  # it takes no other names
        compaction_mode="input",
        should_trigger_compaction=lambda _: True,
    )
    await agents.Runner.run(agent(options), "The code word is heron.", session=session)
    types = [item.get("type") for item in await session.get_items()]
    return {"types": types, "text": (await agents.Runner.run(agent(options), "What was it?", session=session)).final_output}


async def sandbox(**options):
    boxed = SandboxAgent(name="boxed", instructions="Be brief.", model=model_of(**options))
    config = agents.RunConfig(sandbox=SandboxRunConfig(client=UnixLocalSandboxClient()))
    return (await agents.Runner.run(boxed, "Hi", run_config=config)).final_output


async def websocket(baseURL, model):
    client = openai.AsyncOpenAI(base_url=baseURL, api_key="none")
    over_websocket = agents.OpenAIResponsesWSModel(model=model, openai_client=client)
    helper = agents.Agent(name="helper", instructions="Be brief.", model=over_websocket, tools=[get_weather])
    first = await agents.Runner.run(helper, QUESTION, auto_previous_response_id=True)
    again = await agents.Runner.run(helper, "Sure?", previous_response_id=first.last_response_id)
    return [first.final_output, again.final_output]


async def bells(**options):
    rung = []

    @agents.function_tool
    def ring(bell: str) -> str:
        """Rings a bell."""
        rung.append(bell)
        return f"{bell} rang"

    try:
        return {"rung": rung, "text": (await streamed(options, "Ring both bells.", tools=[ring])).final_output}
    except Exception as error:
        return {"rung": rung, "error": str(error)}


scenarios = {
    "bells": bells,
    "websocket": websocket,
    "text": text,
    "stream": stream,
    "tools": tools,
    "tools-stream": tools_stream,
    "tool-search": tool_search,
    "structured": structured,
    "reasoning": reasoning,
    "shell": shell,
    "local-shell": local_shell,
    "apply-patch": apply_patch,
    "compaction": compaction,
    "sandbox": sandbox,
    "rate-limit": text,
    "error": text,
    "cut": stream,
}
