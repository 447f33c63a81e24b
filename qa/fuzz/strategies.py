"""Strategies that several targets share."""

from typing import Any

from hypothesis import strategies as st

#: Seeds of everything random in an input.
SEEDS = st.integers(0, 2**32 - 1)


def cases(usual: dict[str, Any], odd: dict[str, list[Any]], most: int = 4) -> Any:
    """Return inputs with their usual fields and a few unusual ones.

    If each unusual field were present half of the time, nearly every input would be
    refused because of one of them, and the others would never be reached.
    """
    flat = [(name, value) for name, values in odd.items() for value in values]
    few = st.lists(st.sampled_from(flat), max_size=most)
    return st.tuples(st.fixed_dictionaries(usual), few).map(lambda x: x[0] | dict(x[1]))
