"""Makes one site of the pages in docs/ and those elsewhere in the repository, whose links lead into each other.

A hook of MkDocs (see mkdocs.yml). What a page links outside docs/ is taken in below `repository/`, pages with all that
they link in turn. Links are rewritten while the site is built: in the repository they stay as they are, where they lead
from file to file. Two differences between Markdown as repositories show it and Python-Markdown are evened out as well.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE = "repository/"
LINK = re.compile(r"(\]\()([^)#\s]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^ *(```|~~~)")
ITEM = re.compile(r"^(?:[-*]|\d+\.) ")
CODE = re.compile(r"`([^`]+)`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """A folder in the navigation stands for its pages, the README first."""
    config.nav = [_unfolded(entry, Path(config.docs_dir)) for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Takes in what is linked outside docs/, and what that links."""
    waiting = [("docs/" + file.src_uri, file.content_string) for file in files.documentation_pages()]
    taken: set[str] = set()
    while waiting:
        source, text = waiting.pop()
        for target in _targets(source, text) - taken:
            path = ROOT / target
            if _is_page_here(target) or not path.parent.is_dir():
                continue  # there already, or a broken link, which MkDocs reports
            taken.add(target)
            if path.suffix == ".md":
                page = path.read_text(encoding="utf8") if path.is_file() else _listing(path.parent)
                files.append(File.generated(config, site_path(target), content=page))
                waiting.append((target, page))
            elif path.is_file():
                files.append(File.generated(config, site_path(target), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text of a page with the links of the site."""
    here = page.file.src_uri
    source = here.removeprefix(OUTSIDE) if here.startswith(OUTSIDE) else "docs/" + here
    return rewritten(markdown, source)


def rewritten(text: str, source: str) -> str:
    """The text of the file `source` as Python-Markdown and the site need it; blocks of code stay as they are."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            line = LINK.sub(lambda link: link[1] + _link(link[2], source) + link[3], line)
            if line.startswith("|"):
                line = CODE.sub(_escaped, line)
            elif ITEM.match(line) and lines and lines[-1].strip() and not lines[-1].startswith((" ", "-", "*", "1")):
                lines.append("")  # a list may follow a paragraph at once in a repository, not here
        lines.append(line)
    return "\n".join(lines) + "\n"


def site_path(target: str) -> str:
    """Where a file of the repository is on the site."""
    return target.removeprefix("docs/") if _is_page_here(target) else OUTSIDE + target


def _is_page_here(target: str) -> bool:
    """Whether MkDocs finds a file by itself: those in docs/, without the scripts."""
    return target.startswith("docs/") and not target.endswith(".py")


def _listing(folder: Path) -> str:
    """A page for a folder that is linked and has none."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    return "\n".join([f"# {folder.relative_to(ROOT)}", "", *(f"- [{name}]({name})" for name in names), ""])


def _link(target: str, source: str) -> str:
    """A link from a file as it reads on the site."""
    if "://" in target or target.startswith("mailto:"):
        return target
    resolved = _resolved(target, source)
    return posixpath.relpath(site_path(resolved), posixpath.dirname(site_path(source)) or ".")


def _resolved(target: str, source: str) -> str:
    """The path in the repository of what a file links; a folder is its README."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
    return posixpath.join(path, "README.md") if (ROOT / path).is_dir() else path


def _targets(source: str, text: str) -> set[str]:
    return {_resolved(link[1], source) for link in LINK.findall(text) if "://" not in link[1]}


def _escaped(code: re.Match[str]) -> str:
    r"""Code in a table: `\|` would keep its backslash."""
    if r"\|" not in code[1]:
        return code[0]
    text = code[1].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace(r"\|", "&#124;")
    return f"<code>{text}</code>"


def _unfolded(entry: Any, folder: Path) -> Any:
    """An entry of the navigation; a folder as its pages, by the headings under which its README lists them, if any."""
    if not isinstance(entry, dict):
        return entry
    [(title, value)] = entry.items()
    if not (isinstance(value, str) and value.endswith("/")):
        return entry
    names = sorted(path.name for path in (folder / value).glob("*.md") if path.name != "README.md")
    pages: list[Any] = [value + "README.md"]
    for part in (folder / value / "README.md").read_text(encoding="utf8").split("\n## ")[1:]:
        listed = [name for _, name, _ in LINK.findall(part) if name in names]
        pages.append({part.partition("\n")[0]: [{name.removesuffix(".md"): value + name} for name in listed]})
        names = [name for name in names if name not in listed]
    return {title: [*pages, *(value + name for name in names)]}
