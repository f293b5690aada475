"""Joint tables as the mathematics takes them: small ones by hand, and those of the Adult data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from anonymize.channels.problem import ChannelProblem, DisclosureCells

SHARED = Path(os.environ.get("ANONYMIZE_SHARED") or Path(__file__).resolve().parents[2].parent / "shared")
ADULT = SHARED / "data" / "adult.csv"

DISEASES = np.array([[0.20, 0.15, 0.13], [0.12, 0.22, 0.18]])
"""Gender (male, female) x disease (cancer, ...), shares of 100 rows; a woman with cancer has the paper's 0.12."""

ESGRO = (("education", "sex", "race", "salary-class"), "occupation")
EMGRW = (("education", "marital-status", "sex", "race"), "workclass")


def cells_of(joint: NDArray[np.float64], l: float = 2.0) -> DisclosureCells:  # noqa: E741
    """The cells of a joint table of which the last axis is the sensitive attribute."""
    flat = joint.reshape(-1, joint.shape[-1])
    groups, values = np.nonzero(flat)
    shares = flat[groups, values] / flat.sum(axis=1)[groups]
    return DisclosureCells(groups, shares, shares, np.full(len(groups), l), joint.shape[-1])


def problem_of(joint: NDArray[np.float64], l: float, on: str) -> ChannelProblem:  # noqa: E741
    """The problem of RR-QI ("qi"), RR-S ("sensitive") or RR-Both ("both")."""
    pi = joint.sum(axis=-1)
    free = (*[on != "sensitive"] * pi.ndim, on != "qi")
    return ChannelProblem(pi, (cells_of(joint, l),), free)


def adult(columns: tuple[tuple[str, ...], str]) -> NDArray[np.float64]:
    """The joint distribution of some columns of the Adult data."""
    names = [*columns[0], columns[1]]
    frame = pl.read_csv(ADULT, separator=";", infer_schema=False).select(pl.col(names).rank("dense") - 1)
    joint = np.zeros([int(frame[name].max()) + 1 for name in names])  # type: ignore[arg-type]
    np.add.at(joint, tuple(frame[name].to_numpy() for name in names), 1)
    return joint / frame.height
