"""scikit-learn's callbacks, where they exist: progress, and an early end."""

from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

__all__ = ["CallbackSupportMixin", "begin", "end", "step", "with_callbacks"]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Return the method as it is."""
        return method


# Paths run side by side, but callbacks expect one call at a time.
_ONE_AT_A_TIME = Lock()


def begin(model: Any) -> None:
    """Tell callbacks that a fit begins; how many steps it takes is not known."""
    if hasattr(model, "_init_callback_context"):
        task = model._init_callback_context(max_subtasks=None)
        task.call_on_fit_task_begin(estimator=model)


def step(model: Any, name: str) -> bool:
    """Tell callbacks that a part of the fit is done; return whether to stop there."""
    task = getattr(model, "_callback_fit_ctx", None)
    if task is None:
        return False
    with _ONE_AT_A_TIME:
        part = task.subcontext(task_name=name)
        part.call_on_fit_task_begin(estimator=model)
        return bool(part.call_on_fit_task_end(estimator=model))


def end(model: Any) -> None:
    """Tell callbacks that the fit is done."""
    task = getattr(model, "_callback_fit_ctx", None)
    if task is not None:
        task.call_on_fit_task_end(estimator=model)
