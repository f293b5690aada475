"""Kinds of options: those that take a file, no value, or one of some values."""

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
