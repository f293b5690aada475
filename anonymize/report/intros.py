"""How to read a section of a report, by its title: on a page, and where a table has no meanings of its own."""

from __future__ import annotations

from anonymize.report.attacks import TITLE as ATTACKS

INTROS = {
    "Re-identification risk": "Before is the original with its values as they are; after is the release. The "
    "prosecutor knows that a person is in the table, the journalist does not; the marketer links everybody.",
    "Equivalence classes": "Rows that read the same in every quasi-identifier are one class.",
    "Loss by attribute (mean per cell)": "0: every value is shown as it was. 1: nothing is shown.",
    "Hierarchy levels": "Level 0 shows the values as they are, and each level above it less. At the height nothing is "
    "shown.",
    "Marginals": "How many rows have each value before, and how many a reader of the release would count if every "
    "value under a label were equally likely. Rows that show nothing in a column are not in its bars.",
    "Associations": "Cramér's V of pairs of columns: 0 where they are independent, 1 where one tells the other. "
    "After, from what the classes show. The pairs with the strongest associations before.",
    "Settings": "What the command line can replace, and where each value came from.",
    "Information loss compared": "The metrics beside gcp; the report in JSON has sums over rows as well.",
    "Algorithms compared": "Risk is the highest of any row, loss is gcp. Efficient: no other release here has less of "
    "one and no more of the other.",
    ATTACKS: "Success: how often the attacker is right. Excess: the share of what was left to learn that he learns "
    "because of the release, over the control where there is one, else over the baseline.",
    "Codebook": "How the columns and special cells of the release read.",
}
