"""Runs the scenarios of one client:  python serve.py DRIVER

A line of standard input names a scenario, a line of standard output says how it ended.
"""

import asyncio
import importlib
import json
import sys

protocol = sys.stdout
sys.stdout = sys.stderr
scenarios = importlib.import_module(sys.argv[1]).scenarios


async def outcome_of(scenario, options):
    try:
        outcome = scenarios[scenario](**options)
        return {"outcome": await outcome if asyncio.iscoroutine(outcome) else outcome}
    except Exception as error:
        status = getattr(error, "status_code", None)
        return {"error": {"name": type(error).__name__, "message": str(error), "status": status}}


for line in sys.stdin:
    request = json.loads(line)
    scenario = request.pop("scenario")
    print(json.dumps(asyncio.run(outcome_of(scenario, request))), file=protocol, flush=True)
