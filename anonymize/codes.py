"""Exit codes, what each means, and what to do then."""

from __future__ import annotations

DONE = 0
UNSAFE = 1
USAGE = 2
DATA = 3
INFEASIBLE = 4
BUG = 70
NO_MEMORY = 71
CANNOT_WRITE = 74
INTERRUPTED = 130
BROKEN_PIPE = 141

MEANINGS = {
    DONE: "done, every requirement met",
    UNSAFE: "measured, and a privacy requirement is not met or could not be shown",
    USAGE: "usage or spec error, or an output that exists already",
    DATA: "the data is not what the spec says",
    INFEASIBLE: "no release meets the requirements within the suppression limit",
    BUG: "a bug of the program",
    NO_MEMORY: "not enough memory",
    CANNOT_WRITE: "the output cannot be written",
    INTERRUPTED: "interrupted; nothing partial is left",
    BROKEN_PIPE: "broken pipe; nothing partial is left",
}

ADVICE = {
    DONE: "",
    UNSAFE: "Nothing was written. After an `audit`: do not publish the table. `--allow-unsafe` writes a release all "
    "the same, with `satisfied: false` in its report and exit code 0. A requirement that could not be shown has "
    "`satisfied: null`: the [report](report.md#what-could-not-be-shown) lists the cases.",
    USAGE: "The message names the option, or line and column of the spec. `--force` overwrites outputs.",
    DATA: "A file that cannot be read, a column that is missing or has no role, a value outside its hierarchy, a "
    "value that is not a number. The message names columns, counts and lines, never values.",
    INFEASIBLE: "The message names the requirement that binds, and the nearest one that is feasible.",
    BUG: "Please report it. The message says where in the program it happened and shows no value of the table.",
    NO_MEMORY: "The message says how much the table takes and how much there is: a limit of the shell or the "
    "container, or what the machine has free.",
    CANNOT_WRITE: "The disk is full, or permission is missing.",
    INTERRUPTED: "Ctrl-C, a SIGTERM, or a SIGHUP, as when the terminal is closed. In the search of a release on a "
    "terminal, with neither `-i -` nor `-o -`, the first Ctrl-C ends the search alone, where a `--time-limit` could: "
    "the best release so far is verified and written, with exit code 0 and `stopped: interrupted` in its report.",
    BROKEN_PIPE: "The reader of standard output went away.",
}
"""What to do, as the pages say it. Links are those of docs/."""
