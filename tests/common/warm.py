"""`python -m anonymize` in a process of its own, forked from one that has imported what commands import.

Importing takes four times as long as most commands do. A forked command has descriptors, signals, a folder and an
environment of its own, and ends as any process does. What depends on how a process begins (imports, options and
variables of Python's own, limits that are set before it) is executed as usual: `start` decides.

The server has imported modules and done nothing else: polars has no threads yet, so that a copy of it is whole. What it
forks becomes a child of the process that asked for it, which waits for it and signals it as any other.
"""

from __future__ import annotations

import atexit
import ctypes
import importlib
import io
import json
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[2]
USUAL = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
"""Variables of the server, and of commands that may be forked, beside those of this process."""
BEGINNING = ("PYTHON", "LC_", "LANG", "LD_", "POLARS", "_RJEM", "OPENBLAS")
"""How variables begin that are read while a process begins."""
IMPORTED = (
    *("cli.audit", "cli.release", "cli.evaluate", "_audit", "_evaluate", "_recode", "_release", "_validate"),
    *("algorithms.recommended", "algorithms.incognito", "dp.ledger"),
)
"""Modules of the package that commands import; beside them, all of `ROOMS`, and `OTHERS` that these import late."""
ROOMS = ("families", "report", "series")
OTHERS = ("jinja2", "numpy.ma")
STREAMS = ("stdin", "stdout", "stderr")
ADOPT = 36
"""PR_SET_CHILD_SUBREAPER of Linux: a process whose parent ends becomes a child of the nearest one that adopts."""
BYTES = 1 << 20
"""Of a request, at most."""


class Wanted(NamedTuple):
    """A command to be forked. `closed`: the number of a standard stream that is closed, if one is."""

    arguments: list[str]
    folder: str
    env: dict[str, str]
    closed: int | None


def start(
    *arguments: object, cwd: Path, env: Mapping[str, str], closed: int | None = None, **more: Any
) -> subprocess.Popen[bytes]:
    """The command, forked where that makes no difference. `closed`: a standard stream that is closed from the beginning
    on; `more`: as `subprocess.Popen` takes it."""
    words = [*map(str, arguments)]
    usual = sys.platform == "linux" and more.keys() <= {*STREAMS}
    if usual and begins(env) == begins(os.environ | USUAL):
        return Forked(Wanted(words, str(cwd), dict(env), closed), **more)
    if closed is not None:
        more["preexec_fn"] = lambda: os.close(closed)
    return subprocess.Popen([sys.executable, "-m", "anonymize", *words], cwd=cwd, env=env, **more)


def begins(env: Mapping[str, str]) -> dict[str, str]:
    """What of an environment a process reads while it begins."""
    return {name: text for name, text in env.items() if name.startswith(BEGINNING)}


class Forked(subprocess.Popen[bytes]):
    """A process that the server forks; nothing is executed."""

    def __init__(self, wanted: Wanted, **streams: Any) -> None:
        self._wanted = wanted
        super().__init__(["anonymize", *wanted.arguments], **streams)

    def _execute_child(self, *given: Any) -> None:
        """Takes the place of the method that forks and executes; the ends of pipes come after ten others."""
        pipes = given[10:16]
        streams = [end if end != -1 else number for number, end in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid = forked(self._wanted, streams)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def forked(wanted: Wanted, streams: list[int]) -> int:
    """The number of the new process, which is a child of this one."""
    server, libc = serving(os.getpid()), ctypes.CDLL(None)
    libc.prctl(ADOPT, 1, 0, 0, 0)
    try:
        socket.send_fds(server, [json.dumps(wanted).encode()], streams)
        return int(server.recv(BYTES))
    finally:
        libc.prctl(ADOPT, 0, 0, 0, 0)


@cache
def serving(_process: int) -> socket.socket:
    """The way to a server, which ends where nobody is left to ask it."""
    own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BYTES)
    command = [sys.executable, __file__, str(other.fileno())]
    server = subprocess.Popen(command, env=os.environ | USUAL, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL)
    other.close()
    atexit.register(server.wait)
    atexit.register(own.close)  # which comes before
    return own


# --- the server -------------------------------------------------------------------------------------------------------


def serve(way: socket.socket) -> list[str]:
    """Forks until there is nobody to do it for. Returns in what it forks, with the arguments of the command."""
    while True:
        request, streams, _, _ = socket.recv_fds(way, BYTES, len(STREAMS))
        if not request:
            os._exit(0)
        reading, writing = os.pipe()
        if (between := os.fork()) == 0:
            if (made := os.fork()) == 0:
                for each in (reading, writing, way.detach()):
                    os.close(each)
                return become(Wanted(*json.loads(request)), streams)
            os.write(writing, str(made).encode())
            os._exit(0)
        os.waitpid(between, 0)  # from here on, what was made is a child of the process that asked for it
        way.send(os.read(reading, 20))
        for each in (reading, writing, *streams):
            os.close(each)


def become(wanted: Wanted, streams: list[int]) -> list[str]:
    """Makes this process what one would be that has just begun; returns the arguments of its command."""
    for number, each in enumerate(streams):
        os.dup2(each, number)
        os.close(each)
    os.chdir(wanted.folder)
    os.environ.clear()
    os.environ.update(wanted.env)
    sys.path[0] = wanted.folder
    for number, name in enumerate(STREAMS):
        setattr(sys, name, None if number == wanted.closed else stream(number))
        setattr(sys, f"__{name}__", getattr(sys, name))
    if wanted.closed is not None:
        os.close(wanted.closed)
    return wanted.arguments


def stream(number: int) -> io.TextIOWrapper:
    """A standard stream, as Python opens it."""
    raw = io.FileIO(number, "w" if number else "r", closefd=False)
    buffer: Any = io.BufferedWriter(raw) if number else io.BufferedReader(raw)
    errors = "backslashreplace" if number == 2 else "strict"
    return io.TextIOWrapper(buffer, encoding="utf-8", errors=errors, line_buffering=raw.isatty() or number == 2)


if __name__ == "__main__":
    from anonymize import cli
    from anonymize.cli import early

    early.tell_libraries()
    script = cli.main
    for name in (*(f"anonymize.{each}" for each in (*IMPORTED, *ROOMS)), *OTHERS):
        importlib.import_module(name)
    for room in ROOMS:
        for module in pkgutil.iter_modules(sys.modules[f"anonymize.{room}"].__path__, f"anonymize.{room}."):
            importlib.import_module(module.name)
    cli.main = script  # whose place the module of that name has taken
    sys.argv = ["anonymize", *serve(socket.socket(fileno=int(sys.argv[1])))]
    runpy.run_module("anonymize", run_name="__main__", alter_sys=True)
