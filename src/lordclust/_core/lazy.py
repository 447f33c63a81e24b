"""Attributes that are computed when they are first used."""

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_property(Generic[T]):  # noqa: N801  (used like property)
    """A property that is computed once, without a lock.

    Before Python 3.12 ``functools.cached_property`` holds one lock for all instances
    while it computes: fits in several threads wait for each other, and a process that
    is forked meanwhile waits forever.

    Examples
    --------
    >>> class Circle:
    ...     @lazy_property
    ...     def area(self) -> float:
    ...         print("computed")
    ...         return 3.14
    >>> circle = Circle()
    >>> circle.area + circle.area
    computed
    6.28
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.name = compute, compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, owner: None, cls: type) -> "lazy_property[T]": ...
    @overload
    def __get__(self, owner: object, cls: type) -> T: ...
    def __get__(self, owner: Any, cls: type) -> "lazy_property[T] | T":
        if owner is None:
            return self
        value = self.compute(owner)
        # Found before this descriptor from now on; of two threads, the first stays.
        return owner.__dict__.setdefault(self.name, value)  # type: ignore[no-any-return]
