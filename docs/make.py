"""Writes what can be written from the code: `make docs`, or python docs/make.py. A test fails when a page is stale.

A page is either made altogether (one a command, the cut rules, the privacy models, the metrics, the exit codes, the
league), or written by hand with blocks in it that are made: what stands between `<!-- made: NAME -->` and
`<!-- end -->`. Nothing depends on the terminal, the platform or the time.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, cast

import click
from manpage import man_page

from anonymize import errors
from anonymize.algorithms import ALGORITHMS, base
from anonymize.algorithms.base import OptionRange
from anonymize.algorithms.cuts import RULES
from anonymize.attacks import ATTACKERS
from anonymize.cli.main import COMMANDS, cli
from anonymize.cli.options import NamedOrNumber
from anonymize.metrics import METRICS, computed
from anonymize.metrics.measures import MEASURES
from anonymize.privacy import MODELS, PARAMETERS
from anonymize.spark import capabilities
from anonymize.spec.hierarchy import BUILDERS
from anonymize.spec.schema import json_schema
from anonymize.spec.treatments import METHODS
from anonymize.tabulating import MANUALS as TABLE_MANUALS
from anonymize.treatments import TREATMENTS

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
from league import page as league  # noqa: E402

DOCS = ROOT / "docs"
LEAGUE = ROOT / "benchmarks" / "league"
WITH_BLOCKS = (
    *("docs/choose.md", "docs/spec.md", "docs/report.md", "docs/recoding.md", "docs/attacks.md"),
    *("docs/local-recoding.md", "docs/engine.md"),
)
"""Pages by hand with blocks that are made."""

BLOCK = re.compile(r"(<!-- made: ([\w.-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
LEAD = re.compile(r"^([A-Z][A-Za-z ]{2,24}[.:]) (?=\S)")
DEFAULT = re.compile(r"\s*\[default: (.+)\]$")
NOTE = "<!-- Made from the code by docs/make.py: do not edit it here. -->"

RELEASE_EXAMPLES = (
    "anonymize {name} configs/patients.yaml > released.csv",
    "anonymize {name} configs/patients.yaml -o released.csv -r report.json -r report.md",
    "zcat raw.csv.gz | anonymize {name} configs/patients.yaml -i - -k 10 -r report.json | gzip > released.csv.gz",
)
EXAMPLES: dict[str, Sequence[str]] = {
    "anatomy": (
        "anonymize anatomy configs/survey.yaml -o released.csv -r report.json",
        "anonymize anatomy configs/survey.yaml --joined > released.csv",
        "anonymize audit configs/survey.yaml -i released.qit.csv -l 3",
    ),
    "randomize": (
        "anonymize randomize configs/survey.yaml -o released.csv -r report.json",
        "anonymize randomize configs/survey.yaml --on qi -l 5 -o released.csv",
        "anonymize randomize configs/survey.yaml --p age=0.8,sex=0.9 --dry-run -r risk.json",
    ),
    "tabulate": (
        "anonymize tabulate configs/tables.yaml -o tables -r report.html",
        "anonymize tabulate configs/tables.yaml -o tables --force --public-report -r public.md",
    ),
    "safepub": (
        "anonymize safepub configs/safepub.yaml -o released.csv -r report.html",
        "anonymize safepub spec.yaml -o released.csv -r report.json --budget ledger --key people.key",
    ),
    "synthesize": (
        "anonymize synthesize configs/synthetic.yaml -o synthetic.csv -r report.html",
        "anonymize synthesize configs/synthetic.yaml -o synthetic.csv -r public.json --public-report",
    ),
    "audit": (
        "anonymize audit configs/patients.yaml -i released.csv",
        "anonymize audit configs/patients.yaml -i released.csv -q || echo 'not safe'",
        "anonymize audit -i released.csv --qi age,sex,zipcode --sensitive diagnosis -k 5 -l 2",
        "anonymize audit -i released.csv --qi age,sex,zipcode -k 5 --json | jq .privacy",
        'anonymize audit configs/patients.yaml -i released.csv --require "entropy-l-diversity l=2"',
        "anonymize audit configs/patients.yaml -i released.csv --baseline report.json --no-regress --format junit",
        "anonymize audit configs/patients.yaml -i released.csv --previous last-year.csv",
        "anonymize audit -i raw.csv --qi age,sex,zipcode,ward --subsets auto",
    ),
    "attack": (
        "anonymize attack configs/patients.yaml released.csv",
        "anonymize attack configs/patients.yaml released.csv --link link.json --max-excess 0.05 --format sarif",
        "anonymize attack configs/patients.yaml released.csv --control others.csv --attackers inference-majority",
    ),
    "compare": (
        "anonymize compare configs/patients.yaml --algorithms mondrian,datafly,incognito -k 2,5,10",
        "anonymize compare configs/patients.yaml --algorithms 'mondrian,mondrian refine=true' -r compare.html",
        "anonymize compare configs/patients.yaml --algorithms mondrian,top-down --pick 'fastest-within 5%'",
    ),
    "evaluate": (
        "anonymize evaluate configs/patients.yaml released.csv",
        "anonymize evaluate configs/patients.yaml released.csv --tree readmitted",
        "anonymize evaluate configs/patients.yaml released.csv --json | jq .utility.query_error",
        "anonymize evaluate configs/patients.yaml --models --algorithm mondrian --option cut=infogain -r models.md",
        "anonymize evaluate configs/patients.yaml --models --algorithm tds --folds 5 --projection",
    ),
    "validate": (
        "anonymize validate configs/patients.yaml",
        "anonymize validate configs/patients.yaml -i sample_data/patients.csv",
    ),
    "init": (
        "anonymize init sample_data/patients.csv -o spec.yaml",
        "anonymize init sample_data/patients.csv -o spec.yaml --interactive",
        "anonymize init sample_data/patients.csv -o spec.yaml --hierarchies hierarchies",
        "anonymize validate spec.yaml -i sample_data/patients.csv",
        "anonymize mondrian spec.yaml -o released.csv -r report.md",
    ),
    "hierarchy": (
        "anonymize hierarchy show configs/patients.yaml",
        "anonymize hierarchy show configs/patients.yaml age -i sample_data/patients.csv --json",
        "anonymize hierarchy check hierarchies/adult/race.csv hierarchies/patients/diagnosis.yaml",
        "anonymize hierarchy make configs/patients.yaml zipcode -o zipcodes.csv",
    ),
    "generate": (
        "anonymize generate agrawal --function 2 --rows 1000 --seed 1 > people.csv",
        "anonymize generate agrawal --function 2 --function 7 --perturb 0.05 -o train.csv --spec train.yaml",
        "anonymize generate census --rows 10000000 --seed 1 -o census.parquet --spec census.yaml",
        "anonymize mondrian census.yaml > released.csv",
    ),
    "recode": (
        "anonymize mondrian configs/patients.yaml -o released.csv --save-recoding recoding.json",
        "anonymize recode recoding.json -i next-month.csv -o next-month.released.csv -r recoded.json",
        "anonymize audit configs/patients.yaml -i next-month.released.csv",
    ),
    "example": (
        "anonymize example patients",
        "anonymize example survey -o try",
    ),
    "key": ("anonymize key make series.key",),
    "series": (
        "anonymize series show state",
        "anonymize series undo state --key series.key",
        "anonymize series seal state --key series.key",
        "anonymize series forget state --key series.key 4711",
    ),
    "explain": (
        "anonymize explain",
        "anonymize explain t-closeness",
        "anonymize explain gcp",
        "anonymize explain prosecutor",
        "anonymize explain 4",
    ),
    "schema": ("anonymize schema > spec.schema.json", "anonymize schema --report > report.schema.json"),
    "budget": ("anonymize budget show ledger --key people.key", "anonymize budget show ledger --json"),
    "doctor": ("anonymize doctor", "anonymize doctor --key series.key --tmp /var/tmp --json"),
    "reconstruct": (
        "anonymize reconstruct released.csv --attributes sex,diagnosis",
        "anonymize reconstruct released.csv --where 'sex = F and diagnosis in (flu, asthma)' --format json",
        "anonymize reconstruct released.csv --method bayes -o joint.parquet",
    ),
}
"""Of the commands that make no release, or one of another kind."""


def main() -> None:
    """Writes every page that is stale, removes pages of commands that are gone, and says so."""
    for path in stray():
        path.unlink()
        print(f"removed {path.relative_to(ROOT)}", file=sys.stderr)
    for name, text in pages().items():
        path = ROOT / name
        if not path.exists() or path.read_text(encoding="utf8") != text:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf8")
            print(f"wrote {name}", file=sys.stderr)


BY_REGION = (
    "The regions of its classes overlap, so that the rows of several classes may be one person's. Whoever takes the "
    "smallest region is mostly right all the same: overlapping adds little to k. Adult, 30,162 people, seven "
    "quasi-identifiers, k = 10 ([`smallest-region`](../attacks.md#smallest-region), medians; "
    "[what withstands it](../local-recoding.md#the-smallest-region))."
)
"""Above the figures of `benchmarks/regions.py` on the page of a command."""
REGION_HEADER = ("method", "rows by regions", "rows of the smallest", "right", "right by class sizes")
RECODED = {
    "drawn 2": "drawn among the two smallest regions",
    "drawn 1000": "drawn among all regions",
    "closed": "joined until no region covers anybody else",
}


def pages() -> dict[str, str]:
    """Every page, by its path in the checkout, as it should be."""
    made = {f"docs/commands/{name}.md": command_page(name) for name in commands()}
    made |= {
        "docs/commands/README.md": command_index(),
        "docs/cut-rules.md": cut_rules(),
        "docs/privacy-models.md": privacy_models(),
        "docs/metrics.md": metrics(),
        "docs/exit-codes.md": exit_codes(),
        "docs/treatments.md": treatments(),
        "docs/tables.md": tables(),
        "docs/anonymize.1": man_page(commands(), _group()),
        "benchmarks/league/README.md": league.page(
            *(LEAGUE / f"{name}.json" for name in ("results", "bounds", "rounded", "efforts"))
        ),
    }
    return made | {name: filled((ROOT / name).read_text(encoding="utf8")) for name in WITH_BLOCKS}


def stray() -> list[Path]:
    """Pages of commands that there are not."""
    known = {*commands(), "README"}
    return [path for path in sorted((DOCS / "commands").glob("*.md")) if path.stem not in known]


def filled(text: str) -> str:
    """A page by hand, with its blocks made anew."""
    return BLOCK.sub(lambda block: f"{block[1]}{BLOCKS[block[2]]()}\n{block[3]}", text)


# --- Markdown ---------------------------------------------------------------------------------------------------------


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; a bar in a cell is escaped."""
    lines = [header, ["---"] * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def plain(text: str) -> str:
    """Text as Markdown shows it, whatever characters are in it; code between backticks stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<\[\]])", r"\\\1", part) for part in parts)


def manual(docstring: str) -> str:
    """A docstring as Markdown: paragraphs and lists; after the first a lead such as `Cost.` or `Formula:` is bold."""
    first, *rest = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join([plain(first), *(_block(block) for block in rest)])


def _block(block: str) -> str:
    if block.startswith("    "):
        return block
    lines = plain(block).splitlines()
    return "\n".join([LEAD.sub(r"**\1** ", lines[0]), *lines[1:]])


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


# --- commands ---------------------------------------------------------------------------------------------------------


def commands() -> dict[str, click.Command]:
    """Every command of the group, by name."""
    context = _group()
    by_name = {name: cli.get_command(context, name) for name in cli.list_commands(context)}
    return {name: command for name, command in by_name.items() if command is not None}


def _group() -> click.Context:
    return click.Context(cli, info_name="anonymize", **cli.context_settings)


def command_index() -> str:
    """The commands by group, each with its line of help."""
    lines = [NOTE, "", "# Commands", "", "`anonymize COMMAND [OPTIONS] SPEC`; `python -m anonymize` is the same."]
    for title, group in COMMANDS.items():
        rows = [(f"[`{name}`]({name}.md)", plain(text)) for name, (_, text) in group.items()]
        lines += ["", f"## {title}", "", table(("command", "what it does"), rows)]
    return "\n".join([*lines, "", "Every command ends with one of the [exit codes](../exit-codes.md).", ""])


def command_page(name: str) -> str:
    """Usage, manual, options and examples of one command."""
    command = commands()[name]
    context = click.Context(command, info_name=name, parent=_group())
    lines = [NOTE, "", f"# anonymize {name}", "", *_usage(command, context), ""]
    if isinstance(command, click.Group):
        for below, part in command.commands.items():
            inner = click.Context(part, info_name=below, parent=context)
            lines += [f"## {name} {below}", "", *_usage(part, inner), "", _options(part, inner), ""]
    else:
        lines += ["## Options", "", _options(command, context), ""]
    lines += [*_by_region(name), "## Examples", "", "```sh", *examples(name), "```", ""]
    return "\n".join([*lines, "The [exit codes](../exit-codes.md) are those of every command.", ""])


def _measured_regions() -> dict[str, dict[str, Any]]:
    """By method, what benchmarks/regions.py has measured."""
    return cast(
        dict[str, dict[str, Any]], json.loads((ROOT / "benchmarks" / "regions.json").read_text(encoding="utf8"))
    )


def _by_region(name: str) -> list[str]:
    """What the smallest region gives away of Adult, where that command has been measured."""
    measured = {method: each for method, each in _measured_regions().items() if method.split()[0] == name}
    rows = [(*_region_row(f"`{method}`", each), each["date"]) for method, each in measured.items()]
    return ["## Whose class it is", "", BY_REGION, "", table((*REGION_HEADER, "measured"), rows), ""] if rows else []


def _withstanding() -> str:
    """What recodings cost that withstand it, and what is right of them."""
    rows = []
    for method, each in _measured_regions().items():
        others = {name: figures for name, figures in each.items() if isinstance(figures, dict)}
        for name, figures in {f"`{method}`": each, **others}.items() if others else ():
            known = f"{100 * figures['known']:.1f} %" if "known" in figures else ""
            rows.append((f"{figures['gcp']:.4f}", *_region_row(RECODED.get(name, name), figures), known))
    header = ("gcp", *REGION_HEADER, "right, the draw being known")
    return table((header[1], header[0], *header[2:]), [(row[1], row[0], *row[2:]) for row in rows])


def _region_row(label: str, each: Mapping[str, Any]) -> tuple[str, ...]:
    sizes = (f"{each[key]:,.0f}" for key in ("by_regions", "by_method"))
    return (label, *sizes, *(f"{100 * each[key]:.1f} %" for key in ("right", "right_by_rows")))


def _usage(command: click.Command, context: click.Context) -> list[str]:
    """How a command is called, and its manual."""
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    return [f"    {usage}", "", manual(command.help or "")]


def examples(name: str) -> list[str]:
    """Lines to try, in the folder of the checkout."""
    given = EXAMPLES.get(name, RELEASE_EXAMPLES)
    return [line.format(name=name) for line in given]


def _options(command: click.Command, context: click.Context) -> str:
    options = [each for each in command.get_params(context) if isinstance(each, click.Option) and not each.hidden]
    rows = [(_flags(option, context), *_meaning(option)) for option in options]
    return table(("option", "meaning", "default"), rows)


def _flags(option: click.Option, context: click.Context) -> str:
    flags = ", ".join([*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return f"`{flags}`"
    return f"`{flags} {_value(option)}`"


def _value(option: click.Option) -> str:
    """How the value reads: the metavar, the choices, or the name of the type."""
    if option.metavar:
        return option.metavar
    if isinstance(option.type, click.Choice):
        return "|".join(map(str, option.type.choices))
    if isinstance(option.type, NamedOrNumber):
        return "|".join((*option.type.names, "NUMBER"))
    return option.type.name.split(" ")[0].upper()


def _meaning(option: click.Option) -> tuple[str, str]:
    """What an option means, with its range, and its default: its own, or the one that its help names."""
    meaning = option.help or ""
    default = DEFAULT.search(meaning)
    text = plain(" ".join(filter(None, (DEFAULT.sub("", meaning), _limits(option.type)))))
    if default:
        return text, f"`{default[1]}`" if default[1] in "*," else default[1]
    own = option.to_info_dict()["default"]
    printable = isinstance(own, str | int | float) and not isinstance(own, bool)
    return text, f"`{own}`" if printable else ""


def _limits(kind: object) -> str:
    """The range of an option as a sentence; nothing where there is none."""
    kind = kind.number if isinstance(kind, NamedOrNumber) else kind
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return ""
    return capital(f"{OptionRange(kind.min, kind.max, kind.min_open, kind.max_open)}.")


# --- pages made from docstrings ---------------------------------------------------------------------------------------


def _summary(module: object) -> str:
    """The first sentence of a module's manual, without its name in front."""
    return _sentence(inspect.getdoc(module) or "")


def _sentence(manual: str) -> str:
    first = " ".join(manual.partition("\n\n")[0].split())
    return capital(first.partition(": ")[2] or first)


def _section(name: str, docstring: str | None, *more: str) -> Iterator[str]:
    """A heading, the manual, and what the code says besides."""
    yield from ("", f"## {name}", "", manual(docstring or ""))
    for part in more:
        yield from ("", part)


def cut_rules() -> str:
    """The rules by which a Mondrian chooses its cuts."""
    lines = [
        NOTE,
        "",
        "# Cut rules",
        "",
        "Which attribute a class is cut on next decides how much a release loses, more than anything else. "
        "`anonymize mondrian --cut RULE` says how it is chosen. The figures of every rule are in "
        "[benchmarks/results.md](../benchmarks/results.md).",
    ]
    for name, rule in RULES.items():
        lines += _section(name, capital((inspect.getdoc(rule) or "").replace(f"`--cut {name}`: ", "", 1)))
    return "\n".join([*lines, ""])


def treatments() -> str:
    """The manual of every method that changes values, and the keys of its step."""
    rows = [(f"[`{name}`](#{name})", plain(_summary(method))) for name, method in TREATMENTS.items()]
    lines = [
        NOTE,
        "",
        "# Treatments",
        "",
        "A treatment is a step that changes the values of columns, in addition to the generalization of the "
        "quasi-identifiers: `treatments` in the [spec](spec.md) lists the steps in order. Every release command "
        "applies them; [`perturb`](commands/perturb.md) applies only them, and needs no quasi-identifiers. Each step "
        "reads the columns of the input, and no column is changed twice; only `suppress` counts the columns under "
        "`never` as earlier steps have left them.",
        "",
        "```sh",
        "anonymize example microdata -o .",
        "anonymize mondrian microdata.yaml -o released.csv -r report.html",
        "anonymize evaluate microdata.yaml released.csv",
        "```",
        "",
        "The manifest next to the release, `released.manifest.json`, describes the meaning of each column and what "
        "readers may know about it: the matrix of a randomization, the variance of noise. `evaluate` corrects for "
        "it. No file contains anything that would undo the protection: random numbers are the system's, unless "
        "`--seed` is given, and then the report cannot be public. A matrix of `pram` that is made from the table "
        "lists the values of the input, rare ones included: see [there](#pram).",
        "",
        "Models about a sensitive column that a step changes are measured on the original values; `audit`, which has "
        "only the release, cannot decide whether they are met, and says so (exit 1). A changed quasi-identifier "
        "counts for `k` only under microaggregation and suppression, and only `perturb` changes one: every other "
        "command generalizes it. `perturb` can aggregate some quasi-identifiers and suppress cells of the others: "
        "list the aggregated ones under `never` of `suppress`, and all together meet `k`. Except for methods that "
        "state a bound, nothing limits what an attacker learns about changed values; use `attack` to measure it. "
        "Treatments are not available in a series, on an engine, or for a saved recoding.",
        "",
        table(("method", "in a sentence"), rows),
    ]
    for name, method in TREATMENTS.items():
        keys = _spec_table(METHODS[name].__name__)()
        lines += _section(name, capital((inspect.getdoc(method) or "").partition(": ")[2]), keys)
    return "\n".join([*lines, ""])


def tables() -> str:
    """The manual of every mechanism that protects tables."""
    rows = [(f"[`{name}`](#{name})", plain(_sentence(each))) for name, each in TABLE_MANUALS.items()]
    lines = [
        NOTE,
        "",
        "# Tables",
        "",
        "[`tabulate`](commands/tabulate.md) makes tables of counts, shares, sums and means by groups, for users who do "
        "not need the rows. The spec's [`tabulate`](spec.md#tabulate) lists the tables and their protection.",
        "",
        "```sh",
        "anonymize example tables -o .",
        "anonymize tabulate tables.yaml -o tables -r report.html",
        "```",
        "",
        "The folder has a CSV for each table and `manifest.json`, which describes each file and says which groups add "
        "up to a total. All tables of a run are protected together: an attacker who has one has the others. Tables of "
        "two runs are not protected together, and a change from one to the next can be about one person.",
        "",
        "Tables count rows. With a `unit` they count individuals, who count once in a group even with several rows, "
        "unless `counted: rows` is set. To decide whether a group is small, an individual always counts once, and all "
        "rows of an individual are one contribution to a sum. Sums and means are of rows. Sampling weights are "
        "refused: tables are about the rows of the input. Requirements for rows, such as `t-closeness`, are not "
        "judged, as tables have no rows.",
        "",
        "A file has the columns of its groups, the figure, and `status`: `published`, `suppressed` (left blank), or "
        "`empty` (a mean of nobody). Tables under differential privacy also have `margin_95`, half the width of the "
        "95 % interval for the noise. Shares and means have `digits` decimals; by default, as many as give the largest "
        "mean of a table four significant digits, and the smallest share above 0 two. A mean and its count together "
        "reveal the sum, up to rounding. Sums have up to fifteen digits; those under differential privacy end where "
        "noise begins. If the input has numbers with a decimal comma, so do the figures, and the manifest says so "
        "(`decimal`); labels of groups of numbers have a point.",
        "",
        table(("mechanism", "in a sentence"), rows),
    ]
    for name, each in TABLE_MANUALS.items():
        lines += _section(name, each)
    return "\n".join([*lines, ""])


def privacy_models() -> str:
    """What a spec can require."""
    rows = [(f"[`{name}`](#{name})", plain(_sentence(model.manual))) for name, model in MODELS.items()]
    lines = [
        NOTE,
        "",
        "# Privacy models",
        "",
        "What a spec can require under [`privacy`](spec.md#privacy). Every equivalence class has to meet all of them. "
        "`k` and `l` there are short for `k-anonymity` and for `distinct-l-diversity` of every sensitive attribute. "
        "`disclosure`, `amplification` and `local-dp` are for randomized tables alone, which have no classes; there "
        "`l` is short for `disclosure`. Models that bound something for each sensitive value take `values`: only these "
        "are protected then.",
        "",
        "What a model guarantees holds against an attacker who knows what its manual names; each manual also says what "
        "the model does not bound. *Minimality* there means that an attacker who knows the method asks what it would "
        "have released otherwise: a value may be generalized only because people share a sensitive value (R. Wong, "
        'A. Fu, K. Wang, J. Pei, "Minimality attack in privacy preserving data publishing", VLDB 2007). See also the '
        "[security model](security-model.md#minimality-attacks).",
        "",
        table(("model", "in a sentence"), rows),
    ]
    for name, model in MODELS.items():
        lines += _section(name, model.manual, _parameters(name), _model_example(name), *_on_adult(name))
    return "\n".join([*lines, ""])


def _on_adult(name: str) -> Iterator[str]:
    """What attackers get of Adult in spite of a model, where benchmarks/attacks.py has measured it."""
    stored = json.loads((ROOT / "benchmarks" / "attacks.json").read_text(encoding="utf8"))
    plain_k = 'Adult | mondrian | {"k": 10, "suppression": 0.05}'
    for key, result in stored.items():
        label = "k-anonymity" if key == plain_k else key.split(" | ")[1]
        if label.partition(",")[0] == name and "attacks" in result:
            what = "k = 10" + (f" and {label.partition(', ')[2]}" if key != plain_k else "")
            excess = {each: result["attacks"][each]["value"] for each in IN_SPITE if each in result["attacks"]}
            figures = ", ".join(f"{each} {round(value, 3) + 0.0:.3f}" for each, value in excess.items())
            yield f"**What attackers get** of Adult by `mondrian` with {what}, as [excess](attacked.md): {figures}."


def _parameters(name: str) -> str:
    made = PARAMETERS[name].model_json_schema()
    rows = [(f"`{key}`", _type(value), plain(value["description"])) for key, value in made["properties"].items()]
    return table(("parameter", "type", "meaning"), rows)


IN_SPITE = ("prosecutor", "linkability", "inference-majority", "inference-bayes", "inference-model", "downcoding")
"""Attackers of whom the page of each model has the figures."""
IN_PLACE = {
    "k-map": ("fraction", "estimator", "significance"),
    "entropy-l-diversity": ("estimator",),
    "profitability": ("population",),
}
"""Parameters of a model that take the place of others, or of what is meant without them."""


def _model_example(name: str) -> str:
    given = {key: value for key, value in _properties(name).items() if key not in IN_PLACE.get(name, ())}
    values = ", ".join(f"{key}: {_sample(key, value)}" for key, value in given.items())
    attribute = "" if MODELS[name].sensitive == "none" else "attribute: NAME, "
    return f"```yaml\n- {{model: {name}, {attribute}{values}}}\n```"


def _properties(name: str) -> dict[str, Any]:
    properties: dict[str, Any] = PARAMETERS[name].model_json_schema()["properties"]
    return properties


def _sample(key: str, value: Mapping[str, Any]) -> str:
    """A value that the parameter may have."""
    value = {**value, **value.get("anyOf", [{}])[0]}
    if value.get("type") in ("object", "string"):
        return (
            "{VALUE: 5}" if value["type"] == "object" else str(value.get("enum", [value.get("const", "people.csv")])[0])
        )
    if value.get("type") == "array":
        return "[VALUE]"
    if value.get("type") == "boolean":
        return json.dumps(value.get("const", True))
    if value.get("exclusiveMaximum") == 1:
        return "0.1" if key == "rho1" else "0.5"
    if value.get("maximum") == 1:
        return "0.2" if key != "min" else "0"
    return "3" if value.get("type") == "integer" else "2.5"


def metrics() -> str:
    """What a release has lost, as the report says it."""
    lines = [
        NOTE,
        "",
        "# Metrics",
        "",
        "Measures of information loss, in the block `utility` of the [report](report.md). A suppressed row counts as "
        "lost entirely.",
    ]
    for name, metric in METRICS.items():
        lines += _section(name, inspect.getdoc(metric), f"**Computed as:** {plain(computed(metric))}")
    lines += ["", "# Measures", "", "What [`evaluate`](evaluate.md) adds, from the release and the original."]
    for name, measure in MEASURES.items():
        given = plain(" ".join((measure.measure.__doc__ or "").split()))
        lines += _section(name, inspect.getdoc(measure), f"**Given as:** {given}")
    return "\n".join([*lines, ""])


def exit_codes() -> str:
    """How a process ends."""
    rows = [(f"{code}", f"{capital(meaning)}.", errors.ADVICE[code]) for code, meaning in errors.MEANINGS.items()]
    lines = [
        NOTE,
        "",
        "# Exit codes",
        "",
        "Exit code 1 means one thing: the table was measured, and it is not safe to release. "
        "With every other code but 0 nothing was decided about the table.",
        "",
        "With a code other than 0 no output was written or overwritten.",
        "",
        table(("code", "meaning", "what to know"), rows),
    ]
    return "\n".join([*lines, ""])


# --- blocks -----------------------------------------------------------------------------------------------------------


def _not_reusable() -> str:
    """What cannot save its recoding, an algorithm or one with an option, and what that does."""
    lines = []
    for name, algorithm in ALGORITHMS.items():
        if not algorithm.NEEDS.reusable:
            lines.append(f"- `{name}`: {plain(algorithm.NEEDS.family.name)}")
        for each in fields(algorithm.Options):
            values = ["" if value is True else f" {value}" for value in sorted(each.metadata["local"], key=str)]
            flag = each.name.replace("_", "-")
            lines += [f"- `{name} --{flag}{value}`: {plain(each.metadata['help'])}" for value in values]
    return "\n".join(lines)


def _attackers() -> str:
    """The manual of every attacker: what it does, then a line for each of its parts."""
    sections = []
    for name, attacker in ATTACKERS.items():
        first, _, rest = inspect.cleandoc(attacker.__doc__ or "").partition("\n\n")
        parts = re.split(r"(?m)(?:^|(?<=\. ))(?=[A-Z][a-z]+: )", rest)
        lines = [
            f"- **{lead}.** {plain(capital(' '.join(text.split())))}"
            for lead, _, text in map(_parted, filter(None, parts))
        ]
        sections += [f"### {name}", "", plain(capital(" ".join(first.partition(": ")[2].split()))), "", *lines, ""]
    return "\n".join(sections)


def _parted(part: str) -> tuple[str, str, str]:
    return part.partition(": ")


def _spec_table(definition: str | None = None) -> Callable[[], str]:
    """The keys of a mapping of the spec: the whole, or a definition of the JSON Schema."""

    def made() -> str:
        schema = _schema()
        node = schema["$defs"][definition] if definition else schema
        required = node.get("required", [])
        rows = [
            (f"`{key}`", _type(value), _default(value, key in required), plain(value.get("description", "")))
            for key, value in node["properties"].items()
        ]
        return table(("key", "value", "default", "meaning"), rows)

    return made


@cache
def _schema() -> dict[str, Any]:
    """Of the spec, made once for all tables of keys."""
    return json_schema(PARAMETERS)


def _type(value: Mapping[str, Any]) -> str:
    """What may stand there, in a word or two."""
    if "enum" in value:
        return " or ".join(f"`{each}`" for each in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if "oneOf" in value or "anyOf" in value:
        forms = [_type(form) for form in value.get("oneOf") or value["anyOf"] if form != {"type": "null"}]
        return " or ".join(dict.fromkeys(forms))
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2].lower()
        return f"`{name}`" if name in BUILDERS else "mapping"
    if value.get("type") == "array":
        return f"list of {_type(value['items'])}" if "items" in value else "list"
    if isinstance(value.get("type"), list):
        return "text"
    names = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    return names.get(value.get("type", ""), "mapping") + _range(value)


def _range(value: Mapping[str, Any]) -> str:
    signs = {"minimum": "from", "exclusiveMinimum": "above", "maximum": "to", "exclusiveMaximum": "below"}
    limits = " ".join(f"{sign} {value[key]}" for key, sign in signs.items() if key in value)
    return f", {limits}" if limits else ""


def _default(value: Mapping[str, Any], required: bool) -> str:
    if required:
        return "(required)"
    default = value.get("default")
    if default in (None, []):
        return ""
    default = str(default).lower() if isinstance(default, bool) else default
    return f"`{default:g}`" if isinstance(default, float) else f"`{default}`".replace("'", '"')


def _not_on_an_engine() -> str:
    """What an engine lacks, and why: of algorithms, their options, specs and commands."""
    rows = [(f"`{name}`", each.NEEDS.alone) for name, each in ALGORITHMS.items() if each.NEEDS.alone]
    declared: dict[tuple[str, str], list[str]] = {}
    for name, algorithm in ALGORITHMS.items():
        for option in [] if algorithm.NEEDS.alone else fields(algorithm.Options):
            for given, reason in _alone(option):
                declared.setdefault((given, reason), []).append(name)
    rows += [(f"`{given}` ({', '.join(names)})", reason) for (given, reason), names in declared.items()]
    named = [(re.sub(r"{.*}", "...", each.feature), each) for each in capabilities.LACKS]
    rows += [(f"`{name}`" if "a " not in name else name, _of_roads(each)) for name, each in named]
    flags = {name: capabilities.FLAGS.get(name, base.flag(name)) for name in capabilities.REASONS}
    rows += [(f"`{flags[name]}`", reason) for name, reason in capabilities.REASONS.items() if name != "seed"]
    rows += [("`randomize --seed`", capabilities.REASONS["seed"])]
    return table(("not on an engine", "because"), rows)


def _alone(option: Any) -> list[tuple[str, str]]:
    """How an option of an algorithm is written that an engine lacks, with the reason, for each of its values."""
    reason = option.metadata["alone"]
    if isinstance(reason, Mapping):
        return [(f"{base.flag(option.name)} {value}", why) for value, why in reason.items()]
    return [(base.flag_given(option), reason)] if reason else []


def _of_roads(lack: capabilities.Lack) -> str:
    """The reason, with the commands that it is about where others have the feature."""
    everywhere = {capabilities.RELEASE, capabilities.DISTORTION, capabilities.AUDIT} <= {*lack.roads}
    others = {capabilities.RELEASE: "releases with classes", capabilities.DISTORTION: "`randomize`"}
    return lack.reason if everywhere else f"{lack.reason} ({', '.join(others.get(r, f'`{r}`') for r in lack.roads)})"


BLOCKS: dict[str, Callable[[], str]] = {
    "not-on-an-engine": _not_on_an_engine,
    "attackers": _attackers,
    "regions": _withstanding,
    "league": lambda: league.short(LEAGUE / "results.json"),
    "not-reusable": _not_reusable,
    "spec": _spec_table(),
    **{
        f"spec.{name}": _spec_table(name)
        for name in (
            "Input",
            "QuasiIdentifier",
            "Rule",
            "SamplingWeight",
            "Sensitive",
            "Privacy",
            "Passing",
            "EpsilonDelta",
            "ColumnDomain",
            "Synthesis",
            "Tabulation",
            "TabulatedMeasure",
            "SuppressionRules",
            "DominanceRule",
            "CellKeyNoise",
            "PrivateTables",
            "Combination",
            "RiskTrials",
            "Workload",
            "Condition",
            "Output",
        )
    },
}
"""What can stand between `<!-- made: NAME -->` and `<!-- end -->`."""


if __name__ == "__main__":
    main()
