# SPDX-License-Identifier: Apache-2.0
"""Runs the program: without a shell, for a limited answer, and ended when nobody waits for it any more."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.abc

_MOST_OUTPUT = 64 << 20  # bytes that the program may print
_MOST_NOTES = 64 << 10
_SHOWN_NOTES = 20
_PATIENCE = 5.0  # seconds for ending in order, which removes what it made
_VERDICTS = (0, 1, 3)  # of `gate`, which prints an answer with each


class Refusal(Exception):
    """What the program's line of an error says: `code` of its codes, `message` what is wrong and what to do."""

    def __init__(self, code: str, message: str):
        super().__init__(f"{code}: {message}")
        self.code, self.message = code, message


class Lacks(Refusal):
    """The question is right, but the trace has nothing that answers it: "cannot tell", no error of the asker."""


_LACKING = ("NotFound", "FailedPrecondition")  # the program's codes for that, of a trace that it could open


@dataclass
class Printed:
    """What the program printed: its JSON, and its first notes by lines."""

    content: Any
    notes: list[str]


def find_program(named: str | None) -> str:
    """The program that was named, else the one that came with this package, else the one on PATH."""
    beside = os.path.dirname(sys.executable)
    found = shutil.which(named) if named else shutil.which("lanescope", path=beside) or shutil.which("lanescope")
    if found is None:
        raise Refusal("NotFound", f"there is no program '{named or 'lanescope'}'; --program names it")
    return os.path.abspath(found)


class Program:
    """Runs `lanescope` on files that have names of ours (`Traces`); `shown` says what they are called outside."""

    def __init__(self, path: str, folder: Path):
        self._path, self._folder = path, folder
        self.shown: dict[str, str] = {}

    async def json(self, command: str, *args: str, operands: tuple[str, ...] = ()) -> Printed:
        """`lanescope COMMAND ARGS --json -- OPERANDS`. Raises Lacks or Refusal with the program's line."""
        out, err = await self._run([command, *args, "--json", "--", *operands])
        notes = self._named(err).splitlines()
        errors = [line.removeprefix("error: ") for line in notes if line.startswith("error: ")]
        if errors:
            code, _, message = errors[-1].partition(": ")
            raise (Lacks if code in _LACKING else Refusal)(code, message)
        try:
            return Printed(self._renamed(json.loads(out)), [note.removeprefix("note: ") for note in notes[:_SHOWN_NOTES]])
        except ValueError:
            raise Refusal("Internal", f"`lanescope {command}` printed no answer") from None

    async def make(self, command: str, *args: str, operands: tuple[str, ...]) -> list[str]:
        """A command that writes a file instead. Returns its notes."""
        out, err = await self._run([command, *args, "--", *operands])
        text = self._named(err + out)
        for line in text.splitlines():
            if line.startswith("error: "):
                code, _, message = line.removeprefix("error: ").partition(": ")
                raise Refusal(code, message)
        return text.splitlines()

    async def _run(self, arguments: list[str]) -> tuple[str, str]:
        if any("\0" in argument for argument in arguments):
            raise Refusal("InvalidArgument", "no argument may contain the character of code 0")
        try:
            process = await anyio.open_process([self._path, *arguments], stdin=subprocess.DEVNULL, cwd=self._folder,
                                               start_new_session=True)
        except (OSError, ValueError) as error:  # an argument that is too long, or no text
            raise Refusal("InvalidArgument", f"the program does not take these arguments: {error}") from None
        try:
            out, err = bytearray(), bytearray()
            async with anyio.create_task_group() as readers:
                readers.start_soon(_read, process.stdout, out, _MOST_OUTPUT, process.terminate)
                readers.start_soon(_read, process.stderr, err, _MOST_NOTES, None)
            status = await process.wait()
        finally:
            await _end(process)
        if len(out) > _MOST_OUTPUT:
            raise Refusal("ResourceExhausted", f"the answer is longer than {_MOST_OUTPUT >> 20} MiB; ask for less")
        text = err.decode(errors="replace")
        if status not in _VERDICTS and "error: " not in text:
            raise Refusal("Internal", f"`lanescope {arguments[0]}` ended with status {status}")
        return out.decode(errors="replace"), text

    def _named(self, text: str) -> str:
        for path, name in self.shown.items():
            text = text.replace(path, name)
        return text

    def _renamed(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._named(value)
        if isinstance(value, list):
            return [self._renamed(each) for each in value]
        if isinstance(value, dict):
            return {self._named(key): self._renamed(each) for key, each in value.items()}
        return value


async def _read(stream: anyio.abc.ByteReceiveStream, into: bytearray, most: int, beyond: Callable[[], None] | None) -> None:
    """Reads to the end, so that nobody waits to write. Keeps one byte more than `most`, and calls `beyond` where there is more."""
    async for part in stream:
        if len(into) <= most:
            into += part[:most + 1 - len(into)]
            if len(into) > most and beyond is not None:
                beyond()


async def _end(process: anyio.abc.Process) -> None:
    """Ended in order where it still runs: by SIGTERM, which the program takes as Ctrl-C, then by force."""
    with anyio.CancelScope(shield=True):
        for stream in (process.stdout, process.stderr):
            await stream.aclose()
        if process.returncode is None:
            process.terminate()
            with anyio.move_on_after(_PATIENCE):
                await process.wait()
        if process.returncode is None:
            process.kill()
            await process.wait()
