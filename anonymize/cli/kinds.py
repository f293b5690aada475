"""Kinds of options: those that take a file, no value, one of some values, a whole number or a share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(path_type=str)


class NamedOrNumber(click.ParamType[str | float]):
    """One of some names, or a number within a range."""

    name = "choice or number"

    def __init__(self, names: Sequence[str], number: click.IntRange | click.FloatRange) -> None:
        self.names, self.number = tuple(names), number

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """The names, and that a number may stand in their place."""
        return f"[{'|'.join(self.names)}|NUMBER]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | float:
        """The name, or the number. Raises what is wrong as a usage error."""
        if value in self.names:
            return str(value)
        try:
            return self.number.convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"{value!r} is none of {', '.join(self.names)}, and no number of at least {self.number.min:g}.")


def file_option(*names: str, **more: Any) -> Callable[[Command], Command]:
    """An option that takes the path of a file or a folder."""
    return click.option(*names, type=PATH, **more)


def flag_option(*names: str, **more: Any) -> Callable[[Command], Command]:
    """An option that takes no value."""
    return click.option(*names, is_flag=True, **more)


def choice_option(
    *names: str, choices: Sequence[str], default: str | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option that takes one of some values; a default is shown."""
    return click.option(*names, type=click.Choice(choices), default=default, show_default=default is not None, **more)


def count_option(
    *names: str, least: int = 0, most: int | None = None, default: int | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option that takes a whole number from `least` to `most`; a default is shown."""
    kind = click.IntRange(least, most)
    return click.option(*names, type=kind, default=default, show_default=default is not None, **more)


def share_option(
    *names: str, min_open: bool = False, max_open: bool = False, default: float | None = None, **more: Any
) -> Callable[[Command], Command]:
    """An option that takes a number from 0, or above it, to 1, or below it; a default is shown."""
    kind = click.FloatRange(0, 1, min_open=min_open, max_open=max_open)
    return click.option(*names, type=kind, default=default, show_default=default is not None, **more)
