"""Zero-concentrated differential privacy (zCDP) inside, (epsilon, delta) outside: the conversion is opendp's.

A mechanism is rho-zCDP when the Rényi divergence of any order alpha between what it makes of two neighbouring tables is
at most rho times alpha (Bun and Steinke 2016). What is drawn one after the other adds up in rho exactly.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

from anonymize.errors import Problem, UsageError

LIBRARY = "opendp"
"""What the extra `dp` installs: noise, private selection and accounting."""
_LEAST, _MOST = 1e-12, 1e6
"""The values of rho between which a budget is looked for."""
_HALVINGS = 100


def require() -> None:
    """Raises UsageError where the extra `dp` is not installed. Imports nothing."""
    try:
        present = find_spec(LIBRARY) is not None
    except (ImportError, ValueError):
        present = False
    if not present:
        raise missing_library()


def missing_library() -> UsageError:
    """What is said where the library of the extra is not installed."""
    hint = "pip install 'anonymize-toolkit[dp]'"
    return UsageError(Problem(f"differential privacy needs {LIBRARY}, which is not installed", hint=hint))


@cache
def opendp() -> Any:
    """The library of mechanisms. Raises UsageError where it is not installed."""
    try:
        import opendp.prelude as library
    except ImportError:
        raise missing_library() from None
    library.enable_features("contrib")
    return library


def gaussian_mechanism(sigma: float) -> Any:
    """opendp's discrete Gaussian on vectors of whole numbers; its map takes their L2 distance to a rho."""
    library = opendp()
    vectors = library.vector_domain(library.atom_domain(T="i64"))
    return library.m.make_gaussian(vectors, library.l2_distance(T="f64"), scale=float(sigma))


def epsilon_of(rho: float, delta: float) -> float:
    """The epsilon that rho of zCDP comes to at a delta: by the curve of privacy of a Gaussian of that rho.

    >>> round(epsilon_of(0.5, 1e-6), 3)
    5.222
    """
    mechanism = opendp().c.make_zCDP_to_approxDP(gaussian_mechanism((2 * rho) ** -0.5))
    return float(mechanism.map(1.0).epsilon(delta))


@cache
def rho_of(epsilon: float, delta: float) -> float:
    """The most zCDP that stays within (epsilon, delta); below it by less than one part in 10^12.

    >>> rho = rho_of(1, 1e-9)
    >>> epsilon_of(rho, 1e-9) <= 1 < epsilon_of(rho * (1 + 1e-9), 1e-9)
    True
    """
    low, high = _LEAST, _MOST
    for _ in range(_HALVINGS):
        middle = float((low * high) ** 0.5)
        if high <= low * (1 + 1e-12):
            break
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low
