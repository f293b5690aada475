"""The `anonymize` command: a group that imports a command's module only when that command is called for."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem, shell_complete

from anonymize import __version__
from anonymize.cli import early, exits
from anonymize.cli.exits import note_next
from anonymize.errors import AnonymizeError

COMPLETE = "_ANONYMIZE_COMPLETE"
"""The variable with which a shell asks for completions; `bash_source`, `zsh_source`, `fish_source` print its script."""

COMMANDS: dict[str, dict[str, tuple[str, str]]] = {
    "Release": {
        "release": ("release:command", "The recommended algorithm, by what the spec asks and a trial."),
        "mondrian": ("release:command", "Multidimensional recoding by recursive cuts."),
        "top-down": ("release:command", "Local recoding: groups cut in two around far rows, then adjusted."),
        "bottom-up": ("release:command", "Local recoding: rows merged into groups of least certainty penalty."),
        "datafly": ("release:command", "Full-domain: generalize what has most values, suppress the rest."),
        "mu-argus": ("release:command", "Rare combinations of values generalized, then suppressed."),
        "samarati": ("release:command", "Full-domain: least height, or all minimal generalizations."),
        "mingen": ("release:command", "Full-domain: least distortion, exhaustively."),
        "incognito": ("release:command", "Full-domain: the best node by any metric; local recoding."),
        "research-value": ("release:command", "Full-domain: the most research value, by weights and rules."),
        "tds": ("release:command", "Single-dimensional: specialize what tells most of a target."),
        "bug": ("release:command", "Single-dimensional: generalize what tells least of a target."),
        "k-optimize": ("release:command", "Single-dimensional: least cost, proved or with its gap."),
        "anatomy": ("release:command", "Bucketization: exact quasi-identifiers, sensitive values by group."),
        "randomize": ("release:command", "Randomized response with a bound on disclosure."),
        "perturb": ("release:command", "The spec's treatments alone: noise, swaps, means of groups."),
    },
    "Check": {
        "audit": ("audit:audit", "Measure any table against privacy models; exit 1 when one is not met."),
        "attack": ("attack:attack", "What attackers learn because of a release, with intervals."),
        "compare": ("compare:compare", "Several algorithms on one table: loss against risk."),
        "evaluate": ("evaluate:evaluate", "Measure what a release has lost, and what models make of it."),
    },
    "Reuse": {
        "recode": ("release:recode", "Apply a saved recoding to rows that it has not seen."),
        "series": ("series:series", "Show a series of releases, take the last back, forget a person."),
        "reconstruct": ("attack:reconstruct", "Estimate the original distribution from a randomized table."),
    },
    "Prepare": {
        "init": ("init:init", "Profile a table and write a first spec for it."),
        "validate": ("prepare:validate", "Check a spec, alone or against a table."),
        "hierarchy": ("prepare:hierarchy", "Show, check and make value generalization hierarchies."),
        "generate": ("generate:generate", "Make a synthetic table of any size."),
        "example": ("generate:example", "Write an example spec with its table and hierarchies."),
        "doctor": ("questions:doctor", "Check this machine: versions, extras, memory, folders, a key."),
        "explain": ("questions:explain", "Explain a model, metric, algorithm, cut rule, attacker or exit code."),
        "key": ("series:key", "Make the key of a series of releases."),
        "schema": ("prepare:schema", "Print the JSON Schema of the spec, or of reports."),
    },
}
"""Group -> command -> where it is made (a function that takes the command's name, or a command), and its line of
help."""

TAKE_IT_WHEN: dict[str, tuple[str, ...]] = {
    "start here": ("release",),
    "it should lose little, and regions may differ from group to group": ("mondrian", "top-down", "bottom-up"),
    "every row should be generalized alike, or you weigh levels": (
        "datafly",
        "mu-argus",
        "samarati",
        "mingen",
        "incognito",
        "research-value",
    ),
    "something is to be predicted, or each value should read one way": ("tds", "bug", "k-optimize"),
    "quasi-identifiers should stay exact, or values be drawn": ("anatomy", "randomize"),
    "values should be changed rather than generalized": ("perturb",),
}
"""When to take which release command, as the help has them."""


class LazyGroup(click.Group):
    """Commands by name; the module behind one is imported when it is run or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in COMMANDS.values() for name in group]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, which knows no names to suggest where commands are imported on demand."""
        if not args[0].startswith("-") and args[0] not in self.list_commands(ctx) and not ctx.resilient_parsing:
            from difflib import get_close_matches

            nearest = get_close_matches(args[0], self.list_commands(ctx))
            suggestion = f" Did you mean {nearest[0]!r}?" if nearest else ""
            raise click.UsageError(f"No such command {args[0]!r}.{suggestion}", ctx)
        return super().resolve_command(ctx, args)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for group in COMMANDS.values():
            if cmd_name in group:
                module, _, attribute = group[cmd_name][0].partition(":")
                with early.without_collecting():
                    made = getattr(importlib.import_module(f"anonymize.cli.{module}"), attribute)
                    command = made if isinstance(made, click.Command) else made(cmd_name)
                assert isinstance(command, click.Command)
                return command
        return None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands by name, none of them imported; then the options."""
        helps = {name: text for group in COMMANDS.values() for name, (_, text) in group.items()}
        names = [CompletionItem(name, help=text) for name, text in helps.items() if name.startswith(incomplete)]
        return [*names, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        helps = {name: text for group in COMMANDS.values() for name, (_, text) in group.items()}
        for reason, names in TAKE_IT_WHEN.items():
            with formatter.section(f"Release: {reason}"):
                formatter.write_dl([(name, helps[name]) for name in names])
        for title, group in list(COMMANDS.items())[1:]:
            with formatter.section(title):
                formatter.write_dl([(name, text) for name, (_, text) in group.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", prog_name="anonymize")
def cli() -> None:
    """Turn a table about people into one that can be published, and prove it.

    A YAML spec says what the columns are and what a release must guarantee. The release is measured again from the
    written text before it takes its place.

    \b
    anonymize init TABLE -o spec.yaml                    a first spec, to be read and decided on
    anonymize validate spec.yaml -i TABLE                mistakes, all at once
    anonymize release spec.yaml -o out.csv -r out.html   the release and its report
    """


def run(arguments: Sequence[str]) -> None:
    """Runs a command line and raises what goes wrong; to click's own `main` a broken pipe is exit code 1."""
    with cli.make_context("anonymize", list(arguments)) as context:
        try:
            cli.invoke(context)
        except AnonymizeError as error:
            note_next(error, arguments)
            raise


def main() -> None:
    """The console script; answers a shell that asks for completions."""
    early.tell_libraries()
    if instruction := os.environ.get(COMPLETE):
        sys.exit(shell_complete(cli, {}, "anonymize", COMPLETE, instruction))
    exits.run(lambda: run(sys.argv[1:]))
