"""What names of columns say, and words that stand for a missing value."""

from __future__ import annotations

import re

from anonymize.spec.missing import UNKNOWN

MISSING_WORDS = tuple(
    dict.fromkeys(form for word in sorted(UNKNOWN) for form in (word, word.upper(), word.capitalize(), word.title()))
)
"""The texts that read as missing, as people write them."""

_PARTS = re.compile(r"[A-Z]?[a-zà-ÿ]+|[A-Z]+(?![a-z])|\d+")

IDENTIFIERS = frozenset(
    [
        "id",
        "ids",
        "idnum",
        "identifier",
        "uuid",
        "guid",
        "ssn",
        "nin",
        "sin",
        "nhs",
        "mrn",
        "passport",
        "iban",
        "email",
        "mail",
        "phone",
        "telephone",
        "tel",
        "mobile",
        "fax",
        "address",
        "street",
        "strasse",
        "adresse",
        "url",
        "website",
        "ip",
        "imei",
        "licence",
        "license",
        "plate",
        "account",
        "username",
        "user",
        "login",
        "rownames",
        "rowname",
        "index",
        "rownum",
        "nr",
        "serial",
        "no",
        "number",
        "num",
        "key",
        "pid",
        "patientid",
        "personid",
    ]
)
NAMES = frozenset(
    [
        "name",
        "names",
        "firstname",
        "lastname",
        "forename",
        "surname",
        "fullname",
        "middlename",
        "givenname",
        "familyname",
        "maiden",
        "vorname",
        "nachname",
        "nom",
        "prenom",
        "nombre",
        "apellido",
    ]
)
_PLAIN = frozenset(("name", "names"))
NAME_PREFIXES = frozenset(
    [
        "first",
        "last",
        "given",
        "family",
        "middle",
        "full",
        "fore",
        "sur",
        "maiden",
        "person",
        "patient",
        "customer",
        "client",
    ]
)
FREE = frozenset(
    [
        "note",
        "notes",
        "comment",
        "comments",
        "remark",
        "remarks",
        "description",
        "text",
        "free",
        "narrative",
        "memo",
        "message",
    ]
)
AGES = frozenset(["age", "ages", "alter", "edad"])
BIRTHS = frozenset(["birth", "born", "dob", "birthday", "birthdate", "geburt", "geburtsdatum", "naissance"])
YEARS = frozenset(["year", "years", "yr", "jahr", "annee"])
PLACES = frozenset(
    [
        "zip",
        "zipcode",
        "postal",
        "postcode",
        "postalcode",
        "plz",
        "city",
        "town",
        "village",
        "county",
        "state",
        "province",
        "region",
        "district",
        "borough",
        "neighborhood",
        "neighbourhood",
        "precinct",
        "ward",
        "parish",
        "municipality",
        "country",
        "nation",
        "place",
        "location",
        "locality",
        "area",
        "suburb",
        "lat",
        "latitude",
        "long",
        "lng",
        "lon",
        "longitude",
        "geo",
        "tract",
        "block",
        "census",
        "community",
        "address",
        "residence",
    ]
)
COORDINATES = frozenset(["lat", "latitude", "long", "lng", "lon", "longitude"])
DEMOGRAPHICS = frozenset(
    [
        "sex",
        "gender",
        "race",
        "ethnicity",
        "ethnic",
        "ethnicgroup",
        "nationality",
        "citizenship",
        "citizen",
        "language",
        "marital",
        "married",
        "civil",
        "education",
        "educ",
        "school",
        "schooling",
        "degree",
        "occupation",
        "job",
        "profession",
        "employment",
        "employer",
        "industry",
        "children",
        "kids",
        "household",
        "family",
        "parents",
        "parity",
        "height",
        "weight",
        "religion",
        "native",
        "immigrant",
    ]
)
SECRETS = frozenset(
    [
        "diagnosis",
        "diagnose",
        "diag",
        "disease",
        "illness",
        "condition",
        "hiv",
        "aids",
        "cancer",
        "drug",
        "drugs",
        "abuse",
        "income",
        "salary",
        "wage",
        "wages",
        "earnings",
        "pay",
        "paid",
        "charge",
        "charges",
        "cost",
        "costs",
        "price",
        "amount",
        "balance",
        "debt",
        "credit",
        "loan",
        "assets",
        "wealth",
        "score",
        "grade",
        "result",
        "religion",
        "belief",
        "vote",
        "party",
        "union",
        "orientation",
        "crime",
        "offense",
        "offence",
        "conviction",
        "arrest",
        "verdict",
        "test",
        "symptom",
        "symptoms",
        "treatment",
        "therapy",
        "medication",
        "death",
        "died",
        "dead",
        "survived",
        "outcome",
        "status",
        "icd",
    ]
)


def parts(name: str) -> frozenset[str]:
    """The words of a column's name, in lower case, and the name without what parts them.

    >>> sorted(parts("firstName")), sorted(parts("birth.dt"))
    (['first', 'firstname', 'name'], ['birth', 'birthdt', 'dt'])
    """
    words = [word.lower() for word in _PARTS.findall(name)]
    return frozenset([*words, "".join(words)])


def is_name(name: str) -> bool:
    """Whether a column seems to hold the names of people."""
    words = parts(name)
    if words & (NAMES - _PLAIN):
        return True
    return bool(words & _PLAIN) and not {word for word in words if "name" not in word} - NAME_PREFIXES
