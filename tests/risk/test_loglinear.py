"""Global risk by a log-linear model, against counting and what is known of it."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

from anonymize.risk import TextFrequencySet
from anonymize.risk import loglinear as room
from anonymize.risk.frequency import Ints
from anonymize.risk.loglinear import global_risk


def frequency(codes: Ints) -> TextFrequencySet:
    names = [f"q{number}" for number in range(codes.shape[1])]
    frame = pl.DataFrame(codes.astype(str), schema=names, orient="row")
    return TextFrequencySet.of(frame, [[name] for name in names])


def by_hand(codes: Ints, means: dict[tuple[int, ...], float], fraction: float) -> tuple[float, float, float]:
    """tau1, tau2 and the fit, cell by cell."""
    counts = {cell: int((codes == cell).all(axis=1).sum()) for cell in means}
    beside = [means[cell] * (1 - fraction) / fraction for cell, count in counts.items() if count == 1]
    squares = sum(mean**2 for mean in means.values())
    spread = sum((counts[cell] - mean) ** 2 - counts[cell] for cell, mean in means.items())
    return sum(np.exp(-v) for v in beside), sum((1 - np.exp(-v)) / v for v in beside), spread / squares


def drawn(rows: int = 40) -> Ints:
    generator = np.random.default_rng(4)
    first = generator.integers(0, 5, rows)
    return np.column_stack([first, (first + generator.integers(0, 2, rows)) % 4, generator.integers(0, 3, rows)])


def test_main_effects_are_products_of_shares() -> None:
    codes = drawn()
    shares = [np.bincount(column) / len(codes) for column in codes.T]
    cells = product(*(range(len(each)) for each in shares))
    means = {cell: len(codes) * float(np.prod([s[c] for s, c in zip(shares, cell, strict=True)])) for cell in cells}
    risk = global_risk(frequency(codes), "main", 0.2)
    assert (risk.population_uniques, risk.correct_matches, risk.fit) == pytest.approx(by_hand(codes, means, 0.2))
    assert risk.uniques == sum((codes == cell).all(axis=1).sum() == 1 for cell in means)


def test_pairs_of_two_attributes_are_the_counts_themselves() -> None:
    codes = drawn()[:, :2]
    cells = {tuple(cell): float((codes == cell).all(axis=1).sum()) for cell in codes.tolist()}
    risk = global_risk(frequency(codes), "pairs", 0.25)
    assert (risk.population_uniques, risk.correct_matches, risk.fit) == pytest.approx(by_hand(codes, cells, 0.25))


def test_pairs_fit_what_goes_together() -> None:
    codes = drawn(400)
    main, pairs = (global_risk(frequency(codes), terms, 0.1) for terms in ("main", "pairs"))
    assert main.fit is not None and pairs.fit is not None and abs(pairs.fit) < 0.1 < main.fit


def test_pairs_keep_every_two_way_table() -> None:
    codes = drawn()
    counted = frequency(codes)
    means, _ = room._of_pairs(counted)
    assert len(means) == len(counted.counts) and (means > 0).all()
    independent = global_risk(frequency(np.array([*product(range(3), range(3), range(3))])), "pairs", 0.5)
    assert independent.population_uniques == pytest.approx(27 * np.exp(-1)) and independent.fit == pytest.approx(-1)


def test_the_whole_population_and_bounds() -> None:
    codes = drawn()
    whole = global_risk(frequency(codes), "main", 1.0)
    assert whole.population_uniques == whole.correct_matches == whole.uniques
    some = global_risk(frequency(codes), "main", 0.3)
    assert 0 < some.population_uniques < some.correct_matches < some.uniques
    assert global_risk(frequency(codes[:, :1]), "pairs", 0.3).terms == "pairs"
    assert global_risk(frequency(codes[:0]), "main", 0.3).fit is None


def test_what_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for fraction in (0.0, 1.5):
        with pytest.raises(ValueError, match="above 0 and at most 1"):
            global_risk(frequency(drawn()), "main", fraction)
    monkeypatch.setattr(room, "CELLS", 10)
    with pytest.raises(ValueError, match="at most 10 cells"):
        global_risk(frequency(drawn()), "pairs", 0.5)
