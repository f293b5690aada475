from __future__ import annotations

import subprocess
import sys


def test_imports_nothing_heavy() -> None:
    code = "import sys, anonymize.spec; print(*sorted({'polars', 'numpy', 'scipy', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_imports_no_room_above() -> None:
    code = "import sys, anonymize.spec; print(*(m for m in sys.modules if m.startswith('anonymize.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.split(".")[1] for name in done.stdout.split()} == {"spec", "errors", "files", "places", "records"}
