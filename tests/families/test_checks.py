"""What a family refuses of a spec with steps says what to do instead."""

from __future__ import annotations

from pathlib import Path

import pytest

from anonymize._release import release
from anonymize.algorithms import ALGORITHMS
from anonymize.errors import UsageError
from anonymize.privacy import PARAMETERS
from anonymize.request import Request
from anonymize.spec import make


def test_a_step_on_a_quasi_identifier_beside_others_that_are_generalized_is_refused_with_two_ways(
    tmp_path: Path,
) -> None:
    """One way is `perturb`, which aggregates one and suppresses the other; the other shows the means of classes."""
    (tmp_path / "table.csv").write_text("age,sex\n" + "".join(f"{20 + n % 9},{'fm'[n % 2]}\n" for n in range(60)))
    steps = [{"method": "microaggregation", "columns": ["age"], "k": 3}]
    content = {
        "version": 1,
        "input": {"path": str(tmp_path / "table.csv")},
        "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
        "privacy": {"k": 3},
        "treatments": steps,
    }
    options = ALGORITHMS["mondrian"].Options()
    with pytest.raises(UsageError) as raised:
        release(Request(make(content, PARAMETERS), "mondrian", options, output=str(tmp_path / "out.csv")))
    (problem,) = raised.value.problems
    assert "`anonymize perturb` changes them" in problem.message
    assert problem.hint is not None and "numeric: mean" in problem.hint and "suppress others" in problem.hint
    means = make({**content, "treatments": [], "output": {"numeric": "mean"}}, PARAMETERS)
    release(Request(means, "mondrian", options, output=str(tmp_path / "out.csv")))
    assert (tmp_path / "out.csv").is_file()
