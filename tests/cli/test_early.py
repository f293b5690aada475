"""What libraries are told about memory and threads before they are imported."""

from __future__ import annotations

import gc
import importlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from anonymize.cli import early
from anonymize.cli.main import cli

TELLING = (
    "import os, anonymize.cli.main as m; m.early.tell_libraries();"
    "import sys; print('polars' in sys.modules, 'numpy' in sys.modules)"
)
WORKING = """
import anonymize.cli.main as m
m.early.tell_libraries()
import os, numpy
matrix = numpy.ones((500, 500))
matrix @ matrix
print(len(os.listdir("/proc/self/task")))
"""


def test_variables_that_are_set_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"_RJEM_MALLOC_CONF": "own", "OPENBLAS_NUM_THREADS": "7"}
    monkeypatch.setattr(os, "environ", dict(own))
    early.tell_libraries()
    others = {"POLARS_CSV_CHUNK_SIZE": "2000000", "MKL_NUM_THREADS": "1", "VECLIB_MAXIMUM_THREADS": "1"}
    assert os.environ == own | others | {"PYDANTIC_DISABLE_PLUGINS": "__all__"}


def test_they_are_set_before_anything_reads_them() -> None:
    done = subprocess.run([sys.executable, "-c", TELLING], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted where the system lists them")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="on one processor there is one thread anyway")
def test_linear_algebra_has_one_thread() -> None:
    bare = {name: value for name, value in os.environ.items() if name not in early.ONE_THREAD}
    done = subprocess.run([sys.executable, "-c", WORKING], env=bare, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


@pytest.mark.usefixtures("handlers")
def test_every_signal_ends_the_process_from_the_first_moment_on() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    early.install()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        assert signal.getsignal(number) is early.end
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.usefixtures("handlers")
def test_an_interrupt_that_is_ignored_is_kept_from_libraries_as_well() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    early.install()
    assert signal.getsignal(signal.SIGINT) is signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])
    assert signal.getsignal(signal.SIGTERM) is early.end


@pytest.fixture
def collecting() -> Iterator[None]:
    """Garbage is looked for among everything, before the test and after it."""
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.enable()


@pytest.mark.usefixtures("collecting")
def test_garbage_is_not_looked_for_while_commands_are_imported() -> None:
    with early.without_collecting():
        assert not gc.isenabled()
    assert gc.isenabled() and gc.get_freeze_count() > 1000
    gc.unfreeze()
    assert cli.get_command(click.Context(cli), "audit") is not None
    assert gc.isenabled() and gc.get_freeze_count() > 1000


@pytest.mark.usefixtures("collecting")
def test_garbage_is_looked_for_again_where_an_import_fails() -> None:
    with pytest.raises(ImportError), early.without_collecting():
        importlib.import_module("no_such_module")
    assert gc.isenabled()
