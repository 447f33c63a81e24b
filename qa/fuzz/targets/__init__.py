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
    "graph": "qa.fuzz.targets.graph",
    "projection": "qa.fuzz.targets.projection",
    "path": "qa.fuzz.targets.path",
    "readers": "qa.fuzz.targets.readers",
    "guided": "qa.fuzz.targets.guided",
    "models": "qa.fuzz.targets.models",
    "commands": "qa.fuzz.targets.commands",
}
