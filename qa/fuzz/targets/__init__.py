"""What is tested, one file per target.

A target has

- ``SECONDS``, the limit for one input;
- ``prepare()``, called once before limits apply: imports, compilation;
- ``cases()``, a hypothesis strategy for its inputs, of JSON and bytes; or, where
  structure matters less than number, ``make(rng)``, which returns one;
- ``check(case)``, which runs one input and returns an ``Outcome``, or raises.
"""

#: Modules by the names on the command line.
TARGETS = {
    "graph": "qa.fuzz.targets.graph",
    "projection": "qa.fuzz.targets.projection",
    "path": "qa.fuzz.targets.path",
    "seeds": "qa.fuzz.targets.seeds",
    "fits": "qa.fuzz.targets.fits",
    "tables": "qa.fuzz.targets.tables",
    "readers": "qa.fuzz.targets.readers",
    "guided": "qa.fuzz.targets.guided",
    "models": "qa.fuzz.targets.models",
    "commands": "qa.fuzz.targets.commands",
}
