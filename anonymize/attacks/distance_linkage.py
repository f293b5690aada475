"""Distance linkage: looks for the row whose numbers are nearest to those of a person.

Knows: the numbers of the targets as they were before the release changed them: by microaggregation, noise, swaps, or a
mean in place of a value.
Does: standardizes the changed columns and takes, for each target, the released row at the least distance; among rows at
the same distance, any. Tries ranks in place of values as well, and counts what comes out better.
Success: the row is that about the person; rows that are equally near share the chance. Baseline: a row picked at
random. Where it is not known whom rows are about, nobody can be attacked.
Control: none, as nobody who is not in the release has a row there.
Figures: `columns`, how many numbers are known of a person; `standardized` and `ranks`, the rate of each way;
`one_to_one`, where there are at most 1,000 rows, the rate of whoever knows everybody and gives each a row of his own;
`intervals`, the share of rows all of whose true values are within 5 % of a standard deviation of the released ones.
Limits: columns that are numbers in both tables, of which at least one cell was changed; rows that lack a number are
left out.
Remedy: larger groups or more noise: a larger `k` or `scale` of the step in `treatments` that changes the columns.
Source: Domingo-Ferrer and Torra, A quantitative comparison of disclosure control methods for microdata, 2001.
"""

from __future__ import annotations

import numpy as np

from anonymize.attacks.distances import SCALES, comparable, intervals, nearest, one_to_one
from anonymize.attacks.scene import Scene
from anonymize.attacks.success import Success

ID = "distance-linkage"
TOGETHER = 1000
"""The most rows that are linked one to one."""
KNOWS = "the numbers of people before they were changed"


def attack(scene: Scene) -> list[Success]:
    """One success; none where no numbers were changed, or it is not known whom rows are about."""
    numbers, rows = scene.numbers(), scene.targets.row_of
    if numbers is None or rows is None:
        return []
    original, released = numbers
    whole = np.asarray(np.isfinite(original).all(axis=1) & np.isfinite(released).all(axis=1))
    place = np.cumsum(whole) - 1
    targets = place[rows[(rows >= 0) & whole[np.maximum(rows, 0)]]]
    original, released = original[whole], released[whole]
    tried = [nearest(original, released, scale=scale, people=targets) for scale in SCALES]
    best = max(tried, key=lambda each: each.rate)
    rates = {str(scale): each.rate for scale, each in zip(SCALES, tried, strict=True)}
    if len(original) <= TOGETHER:
        rates["one_to_one"] = one_to_one(*comparable(original, released)).rate
    figures = {"columns": original.shape[1], **rates, "intervals": intervals(original, released)}
    complete = len(targets) == int(whole.sum())
    baseline = np.full(len(targets), 1 / max(len(released), 1))
    return [Success(best.chances, baseline, complete=complete, figures=figures)]
