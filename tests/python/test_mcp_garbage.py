"""Random garbage over stdin gets errors from `prequel mcp`; it never ends, and touches no file.

PREQUEL_GARBAGE=N sends N lines (400).
"""

import json
import os
import random
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LINES = int(os.environ.get("PREQUEL_GARBAGE", "400"))

TABLE = str(ROOT / "data/runs/deepspeed-zero-a100-40gb.csv")
#: questions that make sense, before they are spoilt
TOOLS = {
    "predict": {"job": "bloom-176b-jean-zay"},
    "search": {"model": "gpt-18b", "cluster": "selene", "nodes": 2, "gbs": 64, "top": 1},
    "compare": {"a": "bloom-176b-jean-zay", "b": {"mbs": 2}},
    "explain": {"job": "bloom-176b-jean-zay", "explain": "mlp-in"},
    "validate": {"runs": [TABLE]},
    "calibrate_runs": {"files": [TABLE], "fit": "host", "folds": 1},
    "import": {"files": [str(ROOT / "tests/cli/fixtures/llama-2-7b-config.json")]},
    "show": {"kind": "clusters"},
    "nothing": {},
}
NAMES = ["job", "model", "cluster", "software", "device", "a", "b", "mbs", "tp", "pp", "gbs", "nodes", "set", "explain",
         "runs", "files", "kind", "name", "save_as", "save_data_as", "suffix", "fit", "require", "layout", "plans", "env",
         "slow_node", "overlap", "tokens", "samples"]
WORDS = ["bloom-176b-jean-zay", "gpt-18b", "selene", "megatron-core-2024", "-", "/dev/stdin", "/dev/zero", "/etc/passwd",
         "../../x", "/", ".", "", TABLE, str(ROOT / "tests/cli/fixtures/llama-2-70b.sh"), "x=1",
         "software.launch=async", "plan.tp=8", "tp=8,pp=2", "-,tp=2", "cluster=-", "\x00", "\u2028", "é" * 50, "9" * 400,
         "--json", "$(touch garbage)", "`touch garbage`", "nan", "1e999", "{}", "[", "all", "show"]


def value(choose, depth=0):
    kind = choose.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return choose.choice([None, True, False])
    if kind == 1:
        return choose.choice([0, -1, 1, 2, 8, 64, 2**31, 2**63, -2**63, 10**30])
    if kind == 2:
        return choose.choice([0.5, -0.0, 1e308, 5e-324, 3.7])
    if kind < 6:
        return choose.choice(WORDS)
    if kind == 6:
        return [value(choose, depth + 1) for _ in range(choose.randrange(4))]
    return {choose.choice(NAMES + ["plan", "schema", "what_if"]): value(choose, depth + 1)
            for _ in range(choose.randrange(4))}


def line(choose, known, number):
    """One message, the `number`th; `known`: the names of each tool's arguments."""
    tool = choose.choice(list(TOOLS))
    arguments = dict(TOOLS[tool]) if choose.random() < 0.8 else {}
    for _ in range(choose.choice([0, 1, 1, 2, 4])):
        names = known.get(tool, NAMES) if choose.random() < 0.9 else NAMES
        arguments[choose.choice(names)] = value(choose)
    message = {"jsonrpc": "2.0", "id": choose.choice([number] * 9 + ["a", None, 1.5, [], {}]),
               "method": choose.choice(["tools/call"] * 8 + ["tools/list", "ping", "initialize", "x", 3]),
               "params": choose.choice([{"name": tool, "arguments": arguments}] * 8 + [value(choose)])}
    text = json.dumps(message if choose.random() < 0.95 else value(choose)).encode()
    for _ in range(choose.choice([0] * 7 + [1, 2, 5])):
        place = choose.randrange(len(text) + 1)
        text = choose.choice([
            text[:place] + bytes([choose.randrange(256)]) + text[place + 1:], text[:place] + text[place + 7:],
            text[:place] + text[place // 2:place] + text[place:], text[:place]])
    return text.replace(b"\n", b" ") + b"\n"


def test_garbage_gets_errors(tmp_path):
    choose = random.Random(int(os.environ.get("PREQUEL_SEED", "5")))
    opened, here = tmp_path / "opened", tmp_path / "here"
    opened.mkdir()
    here.mkdir()
    server = subprocess.Popen([os.environ["PREQUEL"], "mcp", "--folder", opened], cwd=here, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**os.environ, "PREQUEL_DATA": str(ROOT / "data")})

    def ask(message):
        server.stdin.write(message + b"\n")
        server.stdin.flush()

    ask(b'{"jsonrpc": "2.0", "id": 0, "method": "tools/list"}')
    tools = json.loads(server.stdout.readline())["result"]["tools"]
    known = {tool["name"]: list(tool["inputSchema"]["properties"]) for tool in tools}
    answered = 0
    for number in range(LINES):
        sent = line(choose, known, number)
        ask(sent + json.dumps({"jsonrpc": "2.0", "id": f"ping {number}", "method": "ping"}).encode())
        while True:  # pings are answered during calls, whose replies may come later
            reply = server.stdout.readline()
            assert reply, (number, sent, server.stderr.read())
            answer = json.loads(reply)
            assert answer["jsonrpc"] == "2.0" and ("result" in answer) != ("error" in answer), sent
            assert answer.get("error", {}).get("code") != -32603, (sent, answer)  # internal
            answered += not answer.get("result", {}).get("isError", True)
            if answer.get("id") == f"ping {number}":
                break
    ask(b'{"jsonrpc": "2.0", "id": "last", "method": "tools/call", "params": {"name": "show", "arguments": {}}}')
    while True:  # calls are answered in their order
        answer = json.loads(server.stdout.readline())
        answered += not answer.get("result", {}).get("isError", True)
        if answer.get("id") == "last":
            break
    assert answered > LINES // 100  # some of it makes sense
    server.stdin.close()
    assert server.wait(timeout=60) == 0
    assert server.stderr.read() == b""
    assert {path.name for path in tmp_path.iterdir()} == {"opened", "here"} and not any(here.iterdir())
