"""What is tried, one file each.

A target has

- ``SECONDS``, the limit for one input;
- ``prepare()``, what is to be done once, before limits hold: imports, compilation;
- ``cases()``, hypothesis's strategy for its inputs, of JSON and bytes; or, where
  structure matters less than number, ``make(rng)``, which makes one;
- ``check(case)``, which runs one input and returns an ``Outcome``, or raises.
"""

#: By the name that the command line takes.
TARGETS = {
    "graph": "fuzz.targets.graph",
    "projection": "fuzz.targets.projection",
    "path": "fuzz.targets.path",
    "readers": "fuzz.targets.readers",
    "guided": "fuzz.targets.guided",
    "models": "fuzz.targets.models",
    "commands": "fuzz.targets.commands",
}
