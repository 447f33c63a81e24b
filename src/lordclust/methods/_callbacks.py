"""Progress of a fit: scikit-learn's callbacks, if available, and a listener."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol, TypeVar

__all__ = [
    "CallbackSupportMixin",
    "Listener",
    "begin",
    "end",
    "heard_by",
    "step",
    "with_callbacks",
]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """A placeholder without callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Return the method unchanged."""
        return method


class Listener(Protocol):
    """Receives the progress of a fit, with any version of scikit-learn."""

    def graph(self, share: float) -> None:
        """Receive the fraction of the graph that is built, 0 to 1."""

    def part(self, name: str, gain: float) -> bool:
        """Receive a finished step and its share of the work; return whether to stop."""


# Paths run in parallel, but callbacks expect one call at a time.
_ONE_AT_A_TIME = Lock()
#: Subtasks of a fit that callbacks hear of, so that they can show a percentage; how
#: many are due after the graph, and after the rest but for what takes no time.
STEPS, AFTER_GRAPH, AFTER_ALL = 1000, 200, 950
#: The name of subtasks that only fill the time between two parts.
BETWEEN = "progress"


@contextmanager
def heard_by(model: Any, listener: Listener) -> Iterator[None]:
    """Report the fits of a model to a listener."""
    model._listener = listener
    try:
        yield
    finally:
        del model._listener


def begin(model: Any) -> None:
    """Report that a fit begins, if anyone listens."""
    if getattr(model, "_skl_callbacks", None):
        task = model._init_callback_context(max_subtasks=STEPS)
        task.call_on_fit_task_begin(estimator=model)
        model._steps = 0.0, 0  # how many are due, and how many were reported


def step(model: Any, name: str, gain: float = 0.0, found: str = "") -> bool:
    """Report that a part of the fit is done; return whether to stop there.

    ``gain`` is its share of the work after the graph, 0 to 1, and ``found`` what a
    model with ``verbose`` prints beside the name.
    """
    listener: Listener | None = getattr(model, "_listener", None)
    task = getattr(model, "_callback_fit_ctx", None)
    verbose = getattr(model, "verbose", 0)
    if listener is None and task is None and not verbose:
        return False
    with _ONE_AT_A_TIME:
        # A path has many stops, which only a patient reader wants to see.
        if verbose > (1 if name.startswith(("tau ", "step ")) else 0):
            print(f"[{type(model).__name__}] {name}{found and ': '}{found}")
        enough = listener is not None and listener.part(name, gain)
        if task is not None:
            due, told = model._steps
            due += AFTER_GRAPH if name == "graph" else gain * (AFTER_ALL - AFTER_GRAPH)
            names = [name] + [BETWEEN] * (int(due) - told - 1)
            names = names[: STEPS - told]  # scikit-learn allows no more
            enough = bool(sum(_told(model, task, one) for one in names)) or enough
            model._steps = due, told + len(names)
    return enough


def _told(model: Any, task: Any, name: str) -> bool:
    """Report a subtask to the callbacks; return whether to stop."""
    part = task.subcontext(task_name=name)
    part.call_on_fit_task_begin(estimator=model)
    return bool(part.call_on_fit_task_end(estimator=model))


def end(model: Any) -> None:
    """Report that the fit is done."""
    task = getattr(model, "_callback_fit_ctx", None)
    if task is not None:
        _, told = vars(model).pop("_steps")
        for _ in range(told, STEPS):
            _told(model, task, BETWEEN)
        task.call_on_fit_task_end(estimator=model)
