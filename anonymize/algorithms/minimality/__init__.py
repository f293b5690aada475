"""Refinements that tell nobody more than their classes do: `--mask-minimality`.

Who knows the method asks why a class was not made finer: because its parts would not have been diverse, so the people
of a part share a value (Wong, Fu, Wang, Pei, VLDB 2007). Here a release is refined from all rows as one class, step by
step. What the next step is depends on quasi-identifiers alone, and the first step that is refused ends it, so that the
only thing an attacker learns beside the release is that this one step was refused. Steps are refused early enough that
this tells nobody's value: see `refusals`, and docs/security-model.md for the proof.
"""
