"""Kinds of options: those that take a file, no value, one of some values, a whole number or a share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])
PATH = click.Path(path_type=str)


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
