"""The site is built without a warning, and its links lead where they lead in the repository."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urldefrag

import pytest

from anonymize.cli.main import COMMANDS

pytest.importorskip("mkdocs")

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)]  # --quiet counts no warnings
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


def test_every_page_of_the_repository_that_is_linked_is_there(site: Path) -> None:
    for page in ("index.html", "start/index.html", "repository/index.html", "repository/benchmarks/results/index.html"):
        assert (site / page).is_file()
    assert (site / "repository/configs/patients.yaml").read_bytes() == (ROOT / "configs/patients.yaml").read_bytes()


def test_links_lead_to_files_and_nothing_is_fetched_from_elsewhere(site: Path) -> None:
    broken, fetched = [], []
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf8")
        for target in re.findall(r'(?:href|src)="([^"]+)"', text) if path.name != "404.html" else []:
            plain = urldefrag(target.partition("?")[0])[0]
            if "://" not in plain and plain and not (path.parent / plain).exists():
                broken.append(f"{path.relative_to(site)}: {target}")
        fetched += re.findall(r'<(?:script|img|iframe)[^>]* src="(https?://[^"]+)"', text)
        fetched += re.findall(r'<link[^>]* rel="(?:stylesheet|preconnect)"[^>]* href="(https?://[^"]+)"', text)
    assert broken == [] and fetched == []


def test_commands_are_in_the_groups_of_the_command_line(site: Path) -> None:
    page = (site / "commands/index.html").read_text(encoding="utf8")
    navigation = re.findall(r'md-ellipsis">\s*([^<]+?)\s*<', page)
    places = [navigation.index(title) for title in COMMANDS]
    assert places == sorted(places) and places[1] < navigation.index("audit") < places[2]


def test_lists_and_code_in_tables_read_as_in_a_repository(site: Path) -> None:
    options = (site / "commands/mondrian/index.html").read_text(encoding="utf8")
    assert "auto|rate|widest" in options.replace("&#124;", "|") and "\\|" not in options
    learnt = (site / "risk/index.html").read_text(encoding="utf8")
    assert re.search(r"<li>\s*(?:<p>)?Only a whole cell is a wildcard", learnt)
