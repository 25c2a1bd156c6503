#!/usr/bin/env python3
"""Puts the program's present output into the pages that show it.

A page says before a block which command made it:

    <!-- output: prequel predict --model llama-3-70b … -->
    ```text
    …
    ```

`| head -N` at the end of the command keeps the first lines alone, `| tail -N` the last ones, `| grep -WORDS` those
that hold these words, `| columns -N` cuts longer ones.
With --check nothing is written: the exit status is 1 if a page is out of date.
"""

import re
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"<!-- output: prequel (?P<command>.*?) -->\n```text\n(?P<text>.*?)```\n", re.DOTALL)


def output_of(program, command):
    """Returns what a command prints, cut as it asks for."""
    first, *cuts = [part.strip() for part in command.split(" | ")]
    command = f"'{program}' {first}"
    while cuts and cuts[0].startswith("prequel "):
        command += f" 2>/dev/null | '{program}' {cuts.pop(0).removeprefix('prequel ')}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"prequel {command}: exit status {done.returncode}\n{done.stderr}")
    # How long a search took changes from run to run.
    lines = [re.sub(r"(combinations considered.*); [0-9.]+ s$", r"\1", line)
             for line in done.stdout.rstrip().splitlines()]
    for cut in cuts:
        name, number = cut.split(" -", 1)
        if name == "head":
            lines = lines[: int(number)]
        elif name == "tail":
            lines = lines[-int(number) :]
        elif name == "grep":
            lines = [line for line in lines if number in line]
        else:
            lines = [line[: int(number)].rstrip() for line in lines]
    return "\n".join(lines) + "\n"


def main():
    """Refreshes or checks the pages that are named."""
    check = "--check" in sys.argv
    program, *pages = [word for word in sys.argv[1:] if word != "--check"]
    stale = []
    for page in map(Path, pages):
        old = page.read_text()
        new = BLOCK.sub(
            lambda block: f"<!-- output: prequel {block['command']} -->\n```text\n"
            f"{output_of(program, block['command'])}```\n",
            old,
        )
        if new != old:
            stale.append(str(page))
            if not check:
                page.write_text(new)
    if check and stale:
        raise SystemExit(f"out of date: {', '.join(stale)}: sh docs/pictures/refresh.sh PROGRAM")


main()
