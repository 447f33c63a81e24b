"""Compile functions that are part of their callers without machine code of their own.

By default numba optimises each function and makes machine code of it, with a wrapper
for Python, even if all its callers contain a copy: most of the time of a compilation.
This module, _cache.py and solver/_lanes_llvm.py are the only ones that use internals of
numba; where they have changed, functions are compiled as numba does by default.
"""

from typing import Any

#: Further options of numba for such functions.
OPTIONS: dict[str, Any] = {}

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
except ImportError:  # pragma: no cover
    pass
else:

    class InlinedLibrary(JITCodeLibrary):
        """Code that is optimised and compiled in those who link it."""

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            """Link what this function uses; it has no address itself."""
            self._ensure_finalized()
            return 0

        @property
        def codegen(self) -> Any:
            """What sets the environment of a function that runs."""
            return self

        def set_env(self, name: str, env: Any) -> None:
            """Do nothing: it never runs on its own."""

    class InlinedCompiler(CompilerBase):
        """numba's compiler, with a library of ours."""

        def define_pipelines(self) -> list[Any]:
            """Return numba's passes."""
            codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_name
            self.state.library = InlinedLibrary(codegen, name)
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    OPTIONS["pipeline_class"] = InlinedCompiler
