"""Lanes as LLVM vectors, an atomic counter, and a way to yield the processor.

Numba's loops over short arrays do not reliably reach vector registers (arrays may
overlap, and LLVM's SLP vectoriser is off). A :class:`Lanes` value is an LLVM vector,
so ``load(U, j) - a[j] - b * mu[j]`` is a handful of vector instructions.

This module and _core/_inlining.py are the only ones that use internals of numba and
llvmlite. lanes.py replaces it by _lanes_plain.py where they have changed.
"""

import operator
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel.models import PrimitiveModel
from numba.extending import intrinsic, overload, register_model

from lordclust._core.compiling import CLOCK
from lordclust._core.jit import njit

LANES = 16
ALLOCATES = False
ATOMIC = True
FLAGS = ("contract", "nsz")


class Lanes(types.Type):
    """The numba type of sixteen numbers of one float type."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Lanes({dtype})")


@register_model(Lanes)
class LanesModel(PrimitiveModel):
    """Lanes are held as one LLVM vector."""

    def __init__(self, manager: Any, lanes: Any) -> None:
        number = ir.DoubleType() if lanes.dtype.bitwidth == 64 else ir.FloatType()
        super().__init__(manager, lanes, ir.VectorType(number, LANES))


def _pointer(context: Any, builder: Any, array_type: Any, array: Any, at: Any) -> Any:
    """Return the address of ``array[at]``; missing places are 0."""
    struct = context.make_array(array_type)(context, builder, array)
    zero = context.get_constant(types.intp, 0)
    at = [*at, *[zero] * (array_type.ndim - len(at))]
    return cgutils.get_item_pointer(
        context, builder, array_type, struct, at, wraparound=False
    )


def _spread(builder: Any, number: Any, vector: Any) -> Any:
    """Return a vector that holds ``number`` in every lane."""
    undefined = ir.Constant(vector, ir.Undefined)
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), vector.count), [0] * vector.count)
    first = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, undefined, zeros)


def _widen(context: Any, builder: Any, lanes: Any, kind: Any, value: Any) -> Any:
    """Return ``value`` as lanes: itself, or a number repeated."""
    if isinstance(kind, Lanes):
        return value
    number = context.cast(builder, value, kind, lanes.dtype)
    return _spread(builder, number, context.get_value_type(lanes))


def _as_double(builder: Any, value: Any, number: Any) -> Any:
    """Return a vector as doubles: storage may be single, arithmetic is not."""
    if number.bitwidth == 64:
        return value
    return builder.fpext(value, ir.VectorType(ir.DoubleType(), value.type.count))


@intrinsic
def load(typingctx: Any, array: Any, place: Any) -> Any:
    """Return the lanes that start at ``array[place]``, in double precision."""
    signature = Lanes(types.float64)(array, types.intp)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = signature.args[0].dtype
        kept = ir.VectorType(context.get_value_type(number), LANES)
        start = _pointer(context, builder, signature.args[0], args[0], [args[1]])
        value = builder.load(builder.bitcast(start, kept.as_pointer()))
        value.align = number.bitwidth // 8
        return _as_double(builder, value, number)

    return signature, codegen


@intrinsic
def store(typingctx: Any, array: Any, place: Any, value: Any) -> Any:
    """Write the lanes to ``array[place]`` and what follows, rounded to its type."""
    signature = types.void(array, types.intp, value)

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = signature.args[0].dtype
        kept = ir.VectorType(context.get_value_type(number), LANES)
        value = args[2] if number.bitwidth == 64 else builder.fptrunc(args[2], kept)
        start = _pointer(context, builder, signature.args[0], args[0], [args[1]])
        done = builder.store(value, builder.bitcast(start, kept.as_pointer()))
        done.align = number.bitwidth // 8
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def splat(typingctx: Any, number: Any, like: Any) -> Any:
    """Return ``number`` in every lane, as lanes of the kind of ``like``."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _widen(context, builder, like, number, args[0])

    return like(number, like), codegen


def _elementwise(emit: Callable[[Any, Any, Any], Any]) -> Any:
    """Make an intrinsic of two lanes (or a number and lanes) from ``emit``."""

    @intrinsic
    def function(typingctx: Any, x: Any, y: Any) -> Any:
        lanes = x if isinstance(x, Lanes) else y
        if not isinstance(lanes, Lanes):
            return None

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            left, right = (
                _widen(context, builder, lanes, kind, value)
                for kind, value in zip(signature.args, args, strict=True)
            )
            return emit(builder, left, right)

        return lanes(x, y), codegen

    return function


def _select(order: str, builder: Any, x: Any, y: Any, yes: Any, no: Any) -> Any:
    """Return ``yes`` in the lanes where ``x order y``, else ``no``."""
    return builder.select(builder.fcmp_ordered(order, x, y), yes, no)


def _zero(x: Any) -> Any:
    """Return the zero of a vector value."""
    return ir.Constant(x.type, [ir.Constant(x.type.element, 0.0)] * x.type.count)


_add = _elementwise(lambda builder, x, y: builder.fadd(x, y, flags=FLAGS))
_sub = _elementwise(lambda builder, x, y: builder.fsub(x, y, flags=FLAGS))
_mul = _elementwise(lambda builder, x, y: builder.fmul(x, y, flags=FLAGS))
_div = _elementwise(lambda builder, x, y: builder.fdiv(x, y, flags=FLAGS))
#: The larger and the smaller of two, lane by lane.
maximum = _elementwise(lambda b, x, y: _select(">", b, x, y, x, y))
minimum = _elementwise(lambda b, x, y: _select("<", b, x, y, x, y))
#: ``where_positive(x, y)``: y in the lanes where x > 0, else 0.
where_positive = _elementwise(lambda b, x, y: _select(">", b, x, _zero(x), y, _zero(x)))


def _bind(symbol: Any, function: Any) -> None:
    """Define an operator on lanes."""

    # Without annotations: numba requires both signatures to be the same.
    def typing(x, y):  # type: ignore[no-untyped-def]
        if isinstance(x, Lanes) or isinstance(y, Lanes):
            return lambda x, y: function(x, y)
        return None

    overload(symbol)(typing)


_bind(operator.add, _add)
_bind(operator.sub, _sub)
_bind(operator.mul, _mul)
_bind(operator.truediv, _div)


@intrinsic
def sum_lanes(typingctx: Any, x: Any) -> Any:
    """Return the sum of the lanes, added pairwise in a fixed order."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, width = args[0], LANES
        index = ir.IntType(32)
        while width > 1:
            width //= 2
            halves = [
                builder.shuffle_vector(
                    value,
                    ir.Constant(value.type, ir.Undefined),
                    ir.Constant(
                        ir.VectorType(index, width), list(range(at, at + width))
                    ),
                )
                for at in (0, width)
            ]
            value = builder.fadd(*halves, flags=FLAGS)
        return builder.extract_element(value, ir.Constant(index, 0))

    return x.dtype(x), codegen


@intrinsic
def any_positive(typingctx: Any, x: Any) -> Any:
    """Return whether any lane is positive."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = ir.IntType(LANES)
        above = builder.fcmp_ordered(">", args[0], _zero(args[0]))
        return builder.icmp_unsigned(
            "!=", builder.bitcast(above, bits), ir.Constant(bits, 0)
        )

    return types.boolean(x), codegen


@intrinsic
def fetch_add(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Atomically add ``value`` to ``array[index]`` and return its old value."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place = _pointer(context, builder, signature.args[0], args[0], [args[1]])
        return builder.atomic_rmw("add", place, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


@intrinsic
def yield_thread(typingctx: Any) -> Any:
    """Let another thread run; does nothing on Windows."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if sys.platform != "win32":
            kind = ir.FunctionType(ir.IntType(32), [])
            call = cgutils.get_or_insert_function(builder.module, kind, "sched_yield")
            builder.call(call, [])
        return context.get_dummy_value()

    return types.void(), codegen


#: How many entries ahead rows are prefetched: most of a product's time is spent waiting
#: for rows that are not in the processor's cache.
AHEAD = 32


def _prefetch(builder: Any, place: Any, size: int) -> None:
    """Prefetch memory that will be read soon."""
    pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    call = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    start = builder.bitcast(place, pointer)
    for at in range(0, size, 64):
        here = builder.gep(start, [ir.Constant(ir.IntType(64), at)])
        builder.call(call, [here, number(0), number(3), number(1)])


@intrinsic(prefer_literal=True)
def row_product(
    typingctx: Any,
    indices: Any,
    data: Any,
    low: Any,
    high: Any,
    rows: Any,
    column: Any,
    out: Any,
    place: Any,
    width: Any,
) -> Any:
    """Put sum_e data[e] rows[indices[e], column:column+width] into ``out[place]``.

    ``e`` runs from ``low`` to ``high``; the result, in doubles, goes to the same
    columns of ``out[place]``. ``width`` is a literal: the sum stays in registers.
    Rows are prefetched some entries before they are needed.
    """
    lanes = width.literal_value
    signature = types.void(
        indices, data, types.intp, types.intp, rows, types.intp, out, types.intp, width
    )

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        index_type, data_type, _, _, rows_type, _, out_type, _, _ = signature.args
        number = ir.DoubleType()
        vector = ir.VectorType(number, lanes)
        kept = ir.VectorType(context.get_value_type(rows_type.dtype), lanes)
        align = rows_type.dtype.bitwidth // 8
        start = ir.Constant(vector, [ir.Constant(number, 0.0)] * lanes)
        total = cgutils.alloca_once_value(builder, start)
        one = context.get_constant(types.intp, 1)
        struct = context.make_array(index_type)(context, builder, args[0])
        last = builder.sub(struct.nitems, one)
        ahead_by = context.get_constant(types.intp, AHEAD)
        with cgutils.for_range_slice(builder, args[2], args[3], one) as (e, _):
            ahead = builder.add(e, ahead_by)
            ahead = builder.select(builder.icmp_signed("<", ahead, last), ahead, last)
            c = builder.load(_pointer(context, builder, index_type, args[0], [ahead]))
            c = context.cast(builder, c, index_type.dtype, types.intp)
            soon = _pointer(context, builder, rows_type, args[4], [c, args[5]])
            _prefetch(builder, soon, lanes * align)
            c = builder.load(_pointer(context, builder, index_type, args[0], [e]))
            c = context.cast(builder, c, index_type.dtype, types.intp)
            s = builder.load(_pointer(context, builder, data_type, args[1], [e]))
            s = context.cast(builder, s, data_type.dtype, types.float64)
            row = _pointer(context, builder, rows_type, args[4], [c, args[5]])
            x = builder.load(builder.bitcast(row, kept.as_pointer()))
            x.align = align
            x = _as_double(builder, x, rows_type.dtype)
            term = builder.fmul(_spread(builder, s, vector), x, flags=FLAGS)
            builder.store(builder.fadd(builder.load(total), term, flags=FLAGS), total)
        target = _pointer(context, builder, out_type, args[6], [args[7], args[5]])
        target = builder.bitcast(target, vector.as_pointer())
        builder.store(builder.load(total), target).align = 8
        return context.get_dummy_value()

    return signature, codegen


@partial(njit, counts=False)
def _try(x, count):  # type: ignore[no-untyped-def]
    store(x, 1, maximum(load(x, 0) * 2.0 - 1.0, 0.0))
    return sum_lanes(load(x, 1)) + fetch_add(count, 0, 1)


def check() -> None:
    """Raise an error if lanes do not compute what they should."""
    x, count = np.arange(32.0).reshape(2, LANES), np.ones(1, np.int64)
    with CLOCK.silently():  # this may be an import
        total = _try(x, count)
    if total != 226.0 or x[1, 15] != 29.0 or count[0] != 2:
        raise RuntimeError("wrong results")
