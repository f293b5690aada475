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
        "release": ("release:command", "Release by the recommended algorithm, chosen for the spec and table."),
        "mondrian": ("release:command", "Multidimensional recoding by recursive partitioning."),
        "top-down": ("release:command", "Local recoding: groups split around distant rows, then adjusted."),
        "bottom-up": ("release:command", "Local recoding: rows merged into groups with the least penalty."),
        "datafly": ("release:command", "Full-domain: generalize columns with most values, suppress the rest."),
        "mu-argus": ("release:command", "Generalize, then suppress, rare combinations of values."),
        "samarati": ("release:command", "Full-domain: least height, or all minimal generalizations."),
        "mingen": ("release:command", "Full-domain: least distortion, exhaustively."),
        "incognito": ("release:command", "Full-domain: the best node by any metric, or local recoding."),
        "research-value": ("release:command", "Full-domain: highest research value, from weights and rules."),
        "tds": ("release:command", "Single-dimensional: top-down specialization for a target."),
        "bug": ("release:command", "Single-dimensional: bottom-up generalization for a target."),
        "k-optimize": ("release:command", "Single-dimensional: least cost, with proof or optimality gap."),
        "anatomy": ("release:command", "Bucketization: exact quasi-identifiers, sensitive values by group."),
        "randomize": ("release:command", "Randomized response with a bound on disclosure."),
        "safepub": ("release:command", "Differentially private: real rows, sampled and generalized."),
        "perturb": ("release:command", "Only the spec's treatments: noise, swapping, microaggregation."),
        "tabulate": ("tabulate:tabulate", "Tables of counts, shares, sums and means, protected together."),
        "synthesize": ("release:command", "A synthetic table under differential privacy, from a fitted model."),
    },
    "Check": {
        "audit": ("audit:audit", "Check any table against privacy models; exit 1 if one is not met."),
        "attack": ("attack:attack", "Measure what attackers learn from a release, with intervals."),
        "compare": ("compare:compare", "Compare algorithms on one table: loss against risk."),
        "evaluate": ("evaluate:evaluate", "Measure the information loss and utility of a release."),
    },
    "Reuse": {
        "recode": ("release:recode", "Apply a saved recoding to new rows."),
        "series": ("series:series", "Show a series of releases, undo the last one, forget a person."),
        "budget": ("series:budget", "Show what releases about the same people have spent together."),
        "reconstruct": ("attack:reconstruct", "Estimate the original distribution from a distorted table."),
    },
    "Prepare": {
        "init": ("init:init", "Profile a table and write a first spec for it."),
        "validate": ("prepare:validate", "Check a spec, alone or against a table."),
        "hierarchy": ("prepare:hierarchy", "Show, check and make value generalization hierarchies."),
        "generate": ("generate:generate", "Make a synthetic table of any size."),
        "example": ("generate:example", "Write an example spec with its table and hierarchies."),
        "doctor": ("questions:doctor", "Check this machine: versions, extras, memory, folders, key file."),
        "explain": ("questions:explain", "Explain a model, metric, algorithm, cut rule, attacker or exit code."),
        "key": ("series:key", "Make or rotate the key of a series of releases."),
        "schema": ("prepare:schema", "Print the JSON Schema of the spec, or of reports."),
    },
}
"""Group -> command -> where it is made (a function that takes the command's name, or a command), and its line of
help."""

TAKE_IT_WHEN: dict[str, tuple[str, ...]] = {
    "start here": ("release",),
    "least loss, with generalization that differs from group to group": ("mondrian", "top-down", "bottom-up"),
    "one level of generalization for each column": (
        "datafly",
        "mu-argus",
        "samarati",
        "mingen",
        "incognito",
        "research-value",
    ),
    "for a prediction target, or one reading of each value": ("tds", "bug", "k-optimize"),
    "exact quasi-identifiers, or randomized values": ("anatomy", "randomize"),
    "perturbed values": ("perturb",),
    "tables instead of rows": ("tabulate",),
    "synthetic rows, whatever an attacker knows": ("synthesize",),
    "differential privacy is required": ("safepub",),
}
"""When to take which release command, as the help has them."""


class LazyGroup(click.Group):
    """Commands by name; the module behind one is imported when it is run or asked for help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for group in COMMANDS.values() for name in group]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Suggests the nearest command for an unknown one: click knows none, as they are imported on demand."""
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
    """Turn a table about people into one that can be published, and verify it.

    A YAML spec declares the role of each column and what a release must guarantee. The release is verified from the
    written text before it is moved into place.

    \b
    anonymize init TABLE -o spec.yaml                    write a first spec, to be edited
    anonymize validate spec.yaml -i TABLE                list all mistakes at once
    anonymize release spec.yaml -o out.csv -r out.html   write the release and its report
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
