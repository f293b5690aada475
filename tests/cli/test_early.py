"""What libraries are told about memory and threads before they are imported."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from anonymize.cli import early

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
    assert os.environ == own | others


def test_they_are_set_before_anything_reads_them() -> None:
    done = subprocess.run([sys.executable, "-c", TELLING], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="threads are counted where the system lists them")
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="on one processor there is one thread anyway")
def test_linear_algebra_has_one_thread() -> None:
    bare = {name: value for name, value in os.environ.items() if name not in early.ONE_THREAD}
    done = subprocess.run([sys.executable, "-c", WORKING], env=bare, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
