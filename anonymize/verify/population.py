"""What a table lets expect of the people behind it: how many of a population lie under what each class shows, from
the texts of both; and what a sample says of what it was drawn from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from anonymize.records import dataclass
from anonymize.verify.cells import LEFT_OUT, CellTemplates, as_number, ends_of, is_clear, number_of
from anonymize.verify.table import by_position, plain
from anonymize.verify.verdict import Tree

# --- tables of a population -------------------------------------------------------------------------------------------
# How many people of a population lie under what each class shows, from the texts of both.
#
# A released cell is read as it stands. The suppressed text shows everything; a label, all leaves that have it above
# them; an interval, written by the template of the spec or in two columns, the numbers in it, and all beyond where an
# end is open; what reads `or` missing, missing values as well; any other text, itself.

PIECE = 20_000
"""How many different people of the population are looked up at a time; people who are alike count once."""


@dataclass(frozen=True)
class Shown:
    """How a quasi-identifier reads: its released columns (two are the ends of intervals, and a third one beside them
    says whether a value may be missing), whether it is a number, and its hierarchy over the values of the population,
    if it has one."""

    name: str
    columns: Sequence[str]
    numeric: bool
    tree: Tree | None


@dataclass(frozen=True)
class People:
    """A population as text, and how cells of the release are read."""

    frame: pl.LazyFrame
    columns: Sequence[Shown]
    templates: CellTemplates
    null: str | None = None
    """What a null of the population is read as; None: missing."""
    normalize: bool = False
    """Whether texts are compared as `table.plain` has them; those of the release are already."""

    @property
    def is_clear(self) -> bool:
        """Whether intervals of numbers say whether they include their ends, where there are any numbers."""
        return is_clear(self.templates.interval) or not any(each.numeric for each in self.columns)

    def count(self) -> int:
        """How many people there are."""
        return int(self.frame.select(pl.len()).collect().item())

    def under(self, classes: pl.DataFrame) -> tuple[pl.Series, int]:
        """(classes,) how many people lie under each, and how many under none. `classes`: the text of every column."""
        names = [f"q{number}" for number in range(len(self.columns))]
        absent = self.templates.missing[0] if self.templates.missing else ""

        def texts(column: pl.Expr, null: str) -> pl.Expr:
            return column.cast(pl.String).fill_null(null).replace(list(self.templates.missing), absent)

        null, columns = absent if self.null is None else self.null, by_position(self.frame)
        own = [texts(columns[each.name], null).alias(name) for each, name in zip(self.columns, names, strict=True)]
        classes = classes.select(texts(column, absent) for column in by_position(classes).values())
        people = self.frame.select(own).group_by(names).agg(pl.len().alias("people")).collect(engine="streaming")
        if self.normalize:
            texts_of = [plain(pl.col(name)).replace("", absent) for name in names]
            people = people.with_columns(texts_of).group_by(names).agg(pl.col("people").sum())
        people = people.with_row_index("person")
        covers = [
            self._covers(each, classes, people[name].unique(), absent)
            for each, name in zip(self.columns, names, strict=True)
        ]
        steps = _prefixes(classes, self.columns)
        reached = [_reached(piece, names, covers, steps) for piece in people.iter_slices(PIECE)]
        pairs = pl.concat(reached).join(people.select("person", "people"), on="person")
        sums = pairs.group_by("step").agg(pl.col("people").sum())
        last = classes.select(step=pl.int_range(pl.len(), dtype=pl.Int64))
        matched = last.join(sums, on="step", how="left", maintain_order="left")["people"].fill_null(0).cast(pl.Int64)
        inside = people.join(pairs.select(pl.col("person").unique()), on="person", how="semi")
        return matched, int(people["people"].sum()) - int(inside["people"].sum())

    def _covers(self, attribute: Shown, classes: pl.DataFrame, values: pl.Series, absent: str) -> pl.DataFrame:
        """Which texts of the release each value lies under: `value`, and the released texts (`t0`, `t1`)."""
        texts = pl.DataFrame(
            [classes[name].alias(f"t{number}") for number, name in enumerate(attribute.columns)]
        ).unique()
        columns = texts.columns
        parts = []
        hidden = texts.filter(pl.all_horizontal(pl.col(name) == self.templates.suppressed for name in columns))
        parts.append(values.alias("value").to_frame().join(hidden, how="cross"))
        parts.append(_labels(attribute, texts, values, absent))
        if attribute.numeric:
            parts.append(self._numbers(texts, values, absent))
        return pl.concat([part.select("value", *columns) for part in parts]).unique()

    def _numbers(self, texts: pl.DataFrame, values: pl.Series, absent: str) -> pl.DataFrame:
        """Numbers in intervals; a value that is missing under the text of missing values, and under intervals that may
        be missing instead."""
        ends = self._ends(texts, absent)
        numbers = pl.DataFrame({"value": values}).with_columns(
            number=pl.when(pl.col("value") != absent).then(number_of(pl.col("value")))
        )
        inside = numbers.drop_nulls().join_where(
            ends.filter(pl.col("low").is_not_null() & pl.col("high").is_not_null()),
            pl.col("low") <= pl.col("number"),
            pl.col("number") <= pl.col("high"),
        )
        for left_out, end in (("without_low", "low"), ("without_high", "high")):
            inside = inside.filter(~pl.col(left_out) | (pl.col("number") != pl.col(end)))
        empty = pl.all_horizontal(pl.col(name) == absent for name in texts.columns[:2])
        gone = ends.filter(empty | pl.col("or_missing"))
        nobody = numbers.filter(pl.col("value") == absent).join(gone, how="cross")
        return pl.concat([part.select("value", *texts.columns) for part in (inside, nobody)])

    def _ends(self, texts: pl.DataFrame, absent: str) -> pl.DataFrame:
        """The texts with the ends of the interval that each is, as `cells.ends_of` has them. Of a template that does
        not say whether these are included, they are left out."""
        if texts.width == 1:
            ends = ends_of(texts["t0"], self.templates).drop("text")
            unclear = pl.lit(not self.is_clear) & (pl.col("low") < pl.col("high")) & pl.col("low").is_finite()
            return texts.hstack(ends.with_columns(pl.col(name) | unclear for name in LEFT_OUT))
        low, high = (number_of(pl.col(name)) for name in ("t0", "t1"))
        left_out = self.templates.leaves_out_high(texts["t0"], texts["t1"])
        no_low, no_high = (pl.col(name).str.strip_chars().is_in(["", absent]) for name in ("t0", "t1"))
        return texts.with_columns(
            low=pl.when(no_low & high.is_not_null()).then(-math.inf).otherwise(low),
            high=pl.when(no_high & low.is_not_null()).then(math.inf).otherwise(high),
            or_missing=pl.col("t2") == "maybe" if texts.width == 3 else pl.lit(False),
            without_low=pl.lit(False),
            without_high=pl.lit(left_out) & (low < high).fill_null(False),
        )


def kept(domains: Sequence[People], classes: pl.DataFrame) -> pl.Series:
    """(classes,) the share of the information that each keeps: 1 less the logarithm of the combinations of values that
    it may stand for over that of all there are; 0 where a cell stands for no value that is known.

    `domains`: of each quasi-identifier its different values, as a population of that column alone. `classes`: the text
    of every column.
    """
    lost, whole, unknown = pl.zeros(len(classes), pl.Float64, eager=True), 0.0, pl.lit(False)
    for each in domains:
        under = each.under(classes.select(by_position(classes)[name] for name in each.columns[0].columns))[0]
        unknown |= under == 0
        lost += under.clip(1).cast(pl.Float64).log(2)
        whole += math.log2(max(each.count(), 1))
    shares = lost.to_frame("lost").select(pl.when(unknown).then(1.0).otherwise(pl.col("lost") / (whole or 1.0)))
    return (1 - shares.to_series()).clip(0, 1)


def _labels(attribute: Shown, texts: pl.DataFrame, values: pl.Series, absent: str) -> pl.DataFrame:
    """Values under their own text, and under the labels above them in the hierarchy; where there are two columns, in
    both alike.

    Numbers are under the labels alone: `05` is not shown as `5`, but it lies in the interval that `5` is.
    """
    tree: Mapping[str, tuple[str, ...]] = attribute.tree or {}
    root = next((path[-1] for path in tree.values()), None)
    if attribute.numeric:
        by_number = {number: path for leaf, path in tree.items() if (number := as_number(leaf)) is not None}
        numbers = [as_number(value) for value in values]
        paths = [
            (value,) if number is None else by_number.get(number, ())[1:]
            for value, number in zip(values, numbers, strict=True)
        ]
    else:
        paths = [tree.get(value, (value, *([root] if root and value == absent else []))) for value in values]
    above = pl.DataFrame(
        {"value": values, "label": [list(path) for path in paths]}, schema_overrides={"label": pl.List(pl.String)}
    )
    same = texts.filter(pl.all_horizontal(pl.col(name) == pl.col("t0") for name in texts.columns))
    return above.explode("label").join(same, left_on="label", right_on="t0", coalesce=False)


def _prefixes(classes: pl.DataFrame, attributes: Sequence[Shown]) -> list[pl.DataFrame]:
    """Attribute by attribute, from what classes show so far (`before`) and next (`t0`, `t1`) to what they show then
    (`step`); the last step is the class."""
    so_far = pl.zeros(classes.height, dtype=pl.Int64, eager=True)
    steps = []
    for number, each in enumerate(attributes):
        texts = [classes[name].alias(f"t{n}") for n, name in enumerate(each.columns)]
        frame = pl.DataFrame([so_far.alias("before"), *texts])
        if number == len(attributes) - 1:
            so_far = pl.int_range(classes.height, dtype=pl.Int64, eager=True)
        else:
            so_far = frame.select(pl.struct(pl.all()).rank("dense").cast(pl.Int64)).to_series()
        steps.append(frame.with_columns(so_far.alias("step")).unique())
    return steps


def _reached(
    people: pl.DataFrame, names: Sequence[str], covers: Sequence[pl.DataFrame], steps: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """The classes (`step`) under which each person (`person`) lies."""
    reached = people.select("person", pl.lit(0, pl.Int64).alias("step"))
    for name, cover, step in zip(names, covers, steps, strict=True):
        texts = [column for column in step.columns if column.startswith("t")]
        values = people.select("person", value=pl.col(name))
        covered = reached.rename({"step": "before"}).join(values, on="person").join(cover, on="value")
        reached = covered.join(step, on=["before", *texts]).select("person", "step")
    return reached


# --- estimates from a sample ------------------------------------------------------------------------------------------
# What a sample lets expect of what it was drawn from: its entropy, people like a class, and people who are unique.
#
# Written from the papers that the models name, in plain Python and with polars for sums over rows.

Sizes = Mapping[int, float]
"""How many classes there are of each size, ascending."""


# --- entropy ---------------------------------------------------------------------------------------------------------


def grassberger(count: float) -> float:
    """G of a number of rows: digamma(n) + (-1)^n (digamma((n + 1) / 2) - digamma(n / 2)) / 2."""
    sign = 1 if count % 2 == 0 else -1
    return digamma(count) + sign * (digamma((count + 1) / 2) - digamma(count / 2)) / 2


def digamma(x: float) -> float:
    """Its recurrence up to 10, then its asymptotic series."""
    below = 0.0
    while x < 10:
        below, x = below - 1 / x, x + 1
    square = 1 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return below + math.log(x) - 1 / (2 * x) - series


# --- people like a class ---------------------------------------------------------------------------------------------


def people_like(rows: int, fraction: float, estimator: str, significance: float) -> int:
    """The largest k that a class of so many rows meets: as many as its rows at least, and as many as there may be if so
    many rows are seen with the significance at most."""

    def improbable(k: int) -> bool:
        return at_least(rows, k * fraction, estimator) <= significance * (1 + 1e-9)

    high = 1
    while improbable(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if improbable(middle) else (low, middle)
    return max(rows, low)


def at_least(rows: int, mean: float, estimator: str) -> float:
    """The probability of so many rows or more where the mean is known: all terms away from the mean summed, beginning
    with the largest, so that none of those that matter is too small for a number."""
    if rows == 0:
        return 1.0
    above = mean < rows
    number = rows if above else rows - 1
    term, total = math.exp(number * math.log(mean) - mean - math.lgamma(number + 1)), 0.0
    while term > total * 1e-17 and number >= 0:
        total += term
        term *= mean / (number + 1) if above else number / mean
        number += 1 if above else -1
    tail = total if above else 1 - total
    return tail if estimator == "poisson" else tail / (1 - math.exp(-mean))


# --- unique people ---------------------------------------------------------------------------------------------------


def sizes_of(size: pl.Series, weight: pl.Series) -> dict[int, float]:
    """How many classes there are of each size, given what each stands for in rows."""
    rows = pl.DataFrame({"size": size, "weight": weight}).group_by("size").agg(pl.col("weight").sum()).sort("size")
    return {int(each): float(total) / int(each) for each, total in rows.iter_rows()}


def unique_people(sizes: Sizes, fraction: float, estimator: str) -> float:
    """The share of the population that is unique."""
    if not sizes.get(1):
        return 0.0
    safe = zayatz(sizes, fraction)
    if estimator == "dankar" and fraction > 0.1:
        fitted = snb(sizes, fraction)
        return safe if fitted is None else min(safe, fitted)
    fits: dict[str, Callable[[Sizes, float], float | None]] = {"dankar": pitman, "pitman": pitman, "snb": snb}
    other = fits[estimator](sizes, fraction) if estimator in fits else None
    return safe if other is None else other


def _rows(sizes: Sizes) -> float:
    return sum(size * classes for size, classes in sizes.items())


def _population(sizes: Sizes, fraction: float) -> int:
    return int(max(round(_rows(sizes) / fraction), _rows(sizes)))


def zayatz(sizes: Sizes, fraction: float) -> float:
    """Classes of one row, times how many of those that are seen once have one person."""
    rows, people = round(_rows(sizes)), _population(sizes, fraction)

    def log_choose(n: int, k: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)

    seen_once = {
        size: classes * size * math.exp(log_choose(people - size, rows - 1) - log_choose(people, rows))
        for size, classes in sizes.items()
        if people - size >= rows - 1
    }
    if not sum(seen_once.values()):
        return 0.0
    return min(sizes[1] * seen_once.get(1, 0.0) / sum(seen_once.values()) / rows, 1.0)


def pitman(sizes: Sizes, fraction: float) -> float | None:
    """Pitman's sampling formula: theta and alpha of most likelihood, alpha at least 0."""
    rows, classes = round(_rows(sizes)), round(sum(sizes.values()))
    if classes < 2 or classes == rows:
        return None

    def by_theta(alpha: float) -> Callable[[float], float]:
        return lambda beyond: (
            inverses(classes, beyond, alpha) - digamma(beyond - alpha + rows) + digamma(beyond - alpha + 1)
        )

    def fitting(alpha: float) -> float:
        """How far theta is from -alpha."""
        above, low = by_theta(alpha), -math.log(rows)
        while above(math.exp(low)) < 0:
            low -= 10
        return math.exp(_falls_to_zero(lambda place: above(math.exp(place)), low, 5 + 3 * math.log(rows)))

    def by_alpha(alpha: float) -> float:
        beyond = fitting(alpha)
        of_sizes = sum(number * (digamma(size - alpha) - digamma(1 - alpha)) for size, number in sizes.items())
        if alpha < 1e-9:
            return classes * (classes - 1) / 2 / beyond - of_sizes
        return (classes - 1 - (beyond - alpha) * inverses(classes, beyond, alpha)) / alpha - of_sizes

    alpha = 0.0 if by_alpha(0.0) <= 0 else _falls_to_zero(by_alpha, 1e-9, 1 - 1e-9)
    theta = fitting(alpha) - alpha
    people = _population(sizes, fraction)
    share = math.exp(math.lgamma(1 + theta) - math.lgamma(alpha + theta) + (alpha - 1) * math.log(people))
    return min(1.0, share)


def inverses(classes: int, beyond: float, alpha: float) -> float:
    """The sum of 1 / (theta + i alpha) for i from 1 to classes - 1, where theta + alpha is `beyond`."""
    if alpha < 1e-9:
        return (classes - 1) / beyond
    return (digamma(beyond / alpha + classes - 1) - digamma(beyond / alpha)) / alpha


def _falls_to_zero(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is 0 that is above before and below after, by halving."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return (low + high) / 2


def snb(sizes: Sizes, fraction: float) -> float | None:
    """Shifted negative binomial classes: alpha and beta with the expected numbers of ones and of twos."""
    ones, twos, people = sizes[1], sizes.get(2, 0.0), _population(sizes, fraction)
    if not twos or fraction >= 1:
        return None
    classes = shlosser(sizes, fraction)
    if not 0 < classes <= people:
        return None

    def alpha_of(beta: float) -> float:
        """Twos over ones is scale x alpha (2 - x + alpha x) / (1 - x + alpha x), which grows with alpha: bisected."""
        x = (1 - fraction) * (1 - beta)
        scale, low, high = fraction * (1 - beta) / (2 * (1 - x)), 0.0, 1e12
        for _ in range(200):
            middle = (low + high) / 2
            less = scale * middle * (2 - x + middle * x) < twos / ones * (1 - x + middle * x)
            low, high = (middle, high) if less else (low, middle)
        return (low + high) / 2

    def excess(beta: float) -> float:
        x, alpha = (1 - fraction) * (1 - beta), alpha_of(beta)
        logs = alpha * math.log(beta / (1 - x)) + math.log1p(alpha * x / (1 - x))
        return math.log(classes * fraction / ones) + logs

    for step in range(398, 0, -1):
        low, high = step / 400, (step + 1) / 400
        below, above = excess(low), excess(high)
        if below * above <= 0:
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if excess(middle) * below > 0 else (low, middle)
            share = classes * high ** alpha_of(high) / people
            return share if 0 < share <= 1 else None
    return None


def shlosser(sizes: Sizes, fraction: float) -> float:
    """How many classes the population has."""
    p = fraction
    first = sum(i * p * p * (1 - p * p) ** (i - 1) * n for i, n in sizes.items())
    second = sum(((1 - p * p) ** i - (1 - p) ** i) * n for i, n in sizes.items())
    third = sum((1 - p) ** i * n for i, n in sizes.items())
    fourth = sum(i * p * (1 - p) ** (i - 1) * n for i, n in sizes.items())
    if not second or not fourth:
        return math.inf
    return sum(sizes.values()) + sizes[1] * first / second * (third / fourth) ** 2
