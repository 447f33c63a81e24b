"""Compile in less time than numba does by default.

numba optimises each function and makes machine code of it, with a wrapper for Python,
even if all its callers contain a copy: most of the time of a compilation. And it
compares all its settings whenever it looks for a call's types.
This module, _cache.py and solver/_lanes_llvm.py are the only ones that use internals of
numba; where they have changed, functions are compiled as numba does by default.
"""

from typing import Any, ClassVar

#: Further options of numba for functions that Python calls, and for those that are part
#: of their callers, without machine code of their own.
OPTIONS: dict[str, Any] = {}
INLINED_OPTIONS: dict[str, Any] = {}

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
except ImportError:  # pragma: no cover
    pass
else:

    class FinalFlags(Flags):
        """Settings that nobody changes: there is one object for equal settings."""

        known: ClassVar[dict[Any, "FinalFlags"]] = {}
        __slots__ = ("_all", "_hash")

        def __init__(self, flags: Flags) -> None:
            super().__init__(flags)
            self._all: dict[str, Any] = flags.values()
            self._hash = hash(flags)

        @classmethod
        def of(cls, flags: Flags) -> "FinalFlags":
            """Return the object of these settings."""
            return cls.known.setdefault(flags, cls(flags))

        def values(self) -> dict[str, Any]:
            """Return all settings."""
            return self._all

        def __hash__(self) -> int:
            return self._hash

        def __eq__(self, other: object) -> bool:
            return self is other or super().__eq__(other)

        def copy(self) -> Flags:
            """Return settings that may be changed."""
            return Flags(self)

    class OwnFlags(Flags):
        """Settings of a function; numba looks up types with a copy of them."""

        __slots__ = ()

        def copy(self) -> Flags:
            """Return final settings."""
            return FinalFlags.of(Flags(self))

    class QuickCompiler(CompilerBase):
        """numba's compiler, which compares settings at once."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.state.flags = OwnFlags(self.state.flags)

        def define_pipelines(self) -> list[Any]:
            """Return numba's passes."""
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

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

    class InlinedCompiler(QuickCompiler):
        """A compiler with a library of ours."""

        def define_pipelines(self) -> list[Any]:
            """Return numba's passes."""
            codegen, name = self.state.targetctx.codegen(), self.state.func_id.func_name
            self.state.library = InlinedLibrary(codegen, name)
            return super().define_pipelines()

    OPTIONS["pipeline_class"] = QuickCompiler
    INLINED_OPTIONS["pipeline_class"] = InlinedCompiler
