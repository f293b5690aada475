"""The hierarchies that come with the project."""

from pathlib import Path

import pytest

from anonymize.domain import files
from anonymize.domain.taxonomy import Taxonomy

FOLDER = Path(__file__).parents[2] / "hierarchies" / "adult"

# number of values in the codebook of UCI Adult, and some that are rare or easily forgotten
CODEBOOK = {
    "workclass": (8, {"Never-worked", "Without-pay"}),
    "education": (16, {"Preschool", "Prof-school"}),
    "marital-status": (7, {"Married-AF-spouse"}),
    "occupation": (14, {"Armed-Forces", "Priv-house-serv"}),
    "race": (5, {"Amer-Indian-Eskimo", "Other"}),
    "sex": (2, {"Female", "Male"}),
    "native-country": (41, {"Holand-Netherlands", "Hong", "South", "Outlying-US(Guam-USVI-etc)", "Trinadad&Tobago"}),
}


@pytest.mark.parametrize("column", CODEBOOK)
def test_adult_covers_the_codebook(column: str) -> None:
    domain = Taxonomy.of(column, files.read(FOLDER / f"{column}.csv", column))
    size, some = CODEBOOK[column]
    assert domain.size == size and some <= set(domain.leaf_text())
    assert domain.labels[domain.root] == "*" and 1 <= domain.height <= 4


def test_every_file_is_tested() -> None:
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(CODEBOOK)
