"""Without the libraries that talk to an engine, its functions say what is missing."""

import sys

import pytest

from anonymize import spark
from anonymize.errors import UsageError


@pytest.mark.parametrize("call", [spark.release, spark.audit])
def test_the_extra_is_named(call: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert callable(call)
    with pytest.raises(UsageError, match=r"pip install 'anonymize-toolkit\[spark\]'"):
        call(None, {"quasi_identifiers": {"age": {}}, "privacy": {"k": 2}})
