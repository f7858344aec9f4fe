# SPDX-License-Identifier: Apache-2.0
"""An agent's door: tools over the Model Context Protocol that ask traces, with the rows that every answer rests on.

    python -m lanescope.mcp --root FOLDER

It needs the package `mcp` (`pip install lanescope[mcp]`) and speaks on standard input and output alone. The tools run the
program `lanescope` and hand its JSON on; nothing is computed here a second time. docs/guides/ask-an-agent.md goes through them.
"""
