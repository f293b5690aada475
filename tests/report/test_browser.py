"""The HTML report in a browser: no error, no request, nothing beyond its window, pictures there, accessible.

Needs Chromium and the extra `browser`; `make browser` installs both. Skipped without.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from anonymize.cli.exits import outcome
from anonymize.cli.main import run

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: make browser")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe: make browser")
pytest.importorskip("lets_plot", reason="HTML reports need the extra html")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: make browser")
ROOT = Path(__file__).parents[2]
NAMES = ("release", "audit", "evaluate", "compare", "names")
HARD = (
    "<script>alert(1)</script>",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "long_" * 40,
    "a|b & <b>c</b>",
)
"""Names of columns: markup, from right to left, of 200 letters."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    spec, released = ROOT / "configs" / "patients.yaml", folder / "released.csv"
    paths = {name: folder / f"{name}.html" for name in NAMES}
    calls: list[list[object]] = [
        ["mondrian", spec, "-o", released, "-r", paths["release"]],
        ["audit", spec, "-i", released, "-k", 500, "-r", paths["audit"]],
        ["evaluate", spec, released, "--queries", 20, "-r", paths["evaluate"]],
        ["compare", spec, "--algorithms", "mondrian,datafly", "-k", "50,500", "--no-cache", "-r", paths["compare"]],
    ]
    rows = "\n".join(",".join(str(row % (place + 3)) for place in range(len(HARD))) for row in range(120))
    (folder / "names.csv").write_text(",".join(HARD) + f"\n{rows}\n", encoding="utf8")
    attributes = {name: {"type": "numeric"} for name in HARD}
    content = {"version": 1, "input": {"path": "names.csv"}, "quasi_identifiers": attributes, "privacy": {"k": 5}}
    (folder / "names.yaml").write_text(json.dumps(content), encoding="utf8")
    calls.append(["mondrian", folder / "names.yaml", "-o", folder / "named.csv", "-r", paths["names"]])
    for arguments in calls:
        assert outcome(lambda given=arguments: run([*map(str, given), "-q"])) in (0, 1)  # type: ignore[misc]
    return paths


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1400, "light")])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_quiet_whole_and_accessible(
    browser: Any, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    requests: list[str] = []
    noises: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.on("console", lambda message: noises.append(message.text))
    opened.on("pageerror", lambda error: noises.append(str(error)))
    opened.goto(pages[name].as_uri())
    assert noises == []
    assert requests == [pages[name].as_uri()]
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    figures = opened.evaluate("[...document.querySelectorAll('svg, .bars')].map(e => e.getBoundingClientRect().height)")
    assert all(height > 10 for height in figures)
    assert figures
    violations = axe.Axe().run(opened)
    assert violations.violations_count == 0, violations.generate_report()
    opened.close()


A4 = 673
"""Pixels between the margins of a page."""


@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_cut_off_on_paper(browser: Any, pages: dict[str, Path], name: str) -> None:
    opened = browser.new_page(viewport={"width": A4, "height": 900})
    opened.emulate_media(media="print")
    opened.goto(pages[name].as_uri())
    widths = "[...document.querySelectorAll('table, svg, p, li')].map(each => each.getBoundingClientRect().right)"
    assert max(opened.evaluate(widths)) <= A4
    opened.close()


def test_no_text_is_small_on_a_telephone(browser: Any, pages: dict[str, Path]) -> None:
    opened = browser.new_page(viewport={"width": 400, "height": 900})
    for name in ("release", "audit", "evaluate"):
        opened.goto(pages[name].as_uri())
        texts = (
            "[...document.querySelectorAll('.bars *, .legend *')].map(e => parseFloat(getComputedStyle(e).fontSize))"
        )
        assert min(opened.evaluate(texts)) >= 11
    opened.close()


def test_a_certificate_that_was_chosen_is_one_sheet_of_paper(browser: Any, pages: dict[str, Path]) -> None:
    opened = browser.new_page()
    opened.goto(pages["release"].as_uri() + "#certificate")
    assert len(re.findall(rb"/Type\s*/Page\b", opened.pdf(prefer_css_page_size=True))) == 1
    opened.close()
