"""Files of other libraries: Parquet with pyarrow, h5ad with anndata."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray
from lordclust._core.validation import extra
from lordclust.files.error import OBJECT, ContentError, allowance, check_unpacked
from lordclust.files.hdf5 import check_hdf5
from lordclust.files.ids import are_row_numbers, is_whole, names_ids
from lordclust.files.source import Source
from lordclust.files.table import (
    Matrix,
    ReadOptions,
    Roles,
    Table,
    as_labels,
    check_sparse,
    not_numeric,
    position,
    shortened,
)
from lordclust.files.text import Columns
from lordclust.files.values import Words

if TYPE_CHECKING:
    from anndata import AnnData


def read_parquet(source: Source, options: ReadOptions) -> Table:
    """Read a Parquet file."""
    with extra("pyarrow", "parquet"):
        from pyarrow import parquet
    with source.open() as file:
        schema = parquet.read_schema(file)
        names = list(schema.names)
        roles = Roles.of(options, names, len(names))
        roles = roles.set_aside(_named_ids(schema, roles))
        wanted = _columns_to_read(roles, schema, options.cells)
        # A text of a million letters may be repeated in a million cells: keep it once.
        words = [names[j] for j in wanted if _is_text(schema.field(j).type)]
        reader = parquet.ParquetFile(file, read_dictionary=words)
        _check_size(reader.metadata, source)
        table = reader.read([names[j] for j in wanted])
    without = roles.set_aside([0])
    if roles.first_may_hold_ids() and without.features:
        roles = without if _looks_like_ids(table.column(names[0])) else roles
    columns = Columns(roles, options, False)
    X = np.full((table.num_rows, len(roles.features)), np.nan)
    for place, j in enumerate(roles.features):
        if _is_text(schema.field(j).type):
            texts = _texts(table.column(names[j]))
            columns.words[j] = Words(unit="row {} (from 0)")
            columns.words[j].add(texts, range(len(texts)))
        else:
            X[:, place] = _numbers(table.column(names[j]), names[j])
    kinds, X = columns.read_words(X)
    kinds |= {j: "date" for j, field in enumerate(schema) if _is_date(field.type)}
    roles, X, numbers = columns.roles.without_row_numbers(X)

    def cells(column: int) -> list[str]:
        return numbers.get(column) or _texts(table.column(names[column]))

    roles = roles.with_ids(cells, _index_columns(schema))
    return replace(
        roles.table(X, cells),
        kinds=[kinds.get(j, "number") for j in roles.features],
        cells={names[j]: cells(j) for j in (wanted if options.cells else ())},
    )


def _columns_to_read(roles: Roles, schema: Any, keep_all: bool) -> list[int]:
    """Return the columns to read; raise an error unless each has one value per row."""
    names = list(schema.names)
    found = {*roles.features, roles.label, roles.id, *roles.aside, *roles.categorical}
    if keep_all:
        found |= set(range(len(names)))
    if roles.first_may_hold_ids():
        found.add(0)
    wanted = sorted(j for j in found if j is not None)
    for j in wanted:
        kind = str(schema.field(j).type)
        if kind.startswith(("list", "large_list", "fixed_size", "struct", "map")):
            raise not_numeric(f"{names[j]!r} is of type {kind}")
        if names.count(names[j]) > 1:
            raise ContentError(f"two columns are called {names[j]!r}. Rename one.")
    return wanted


def _check_size(metadata: Any, source: Source) -> None:
    """Raise an error for a table whose unpacked size is not plausible."""
    groups = range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(i).total_byte_size for i in groups)
    rows, columns = metadata.num_rows, metadata.num_columns
    needed = rows * (8 * columns + OBJECT)  # numbers, and an id
    check_unpacked(
        float("inf") if min(rows, columns) < 0 else max(needed, unpacked),
        allowance(source.size),
        "Write it as csv or npy if it is yours.",
    )


def _is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text or bytes."""
    return any(word in str(kind) for word in ("string", "binary"))


def _is_date(kind: Any) -> bool:
    """Return whether an Arrow type is a date, or a date with the time of day."""
    return str(kind).startswith(("date", "timestamp"))


def _named_ids(schema: Any, roles: Roles) -> list[int]:
    """Return the columns that are an index of pandas, or have the name of ids."""
    index = _index_columns(schema)
    decimals = ("float", "double", "half")
    cells = ["0.5" if str(field.type).startswith(decimals) else "1" for field in schema]
    return [
        j
        for j, field in enumerate(schema)
        if roles.may_hold_ids(j)
        and (field.name in index or names_ids(field.name, [cells[j]]))
    ]


def _index_columns(schema: Any) -> list[str]:
    """Return the columns that were an index in pandas."""
    try:
        columns = (schema.pandas_metadata or {})["index_columns"]
        return [name for name in columns if isinstance(name, str)]
    except (KeyError, TypeError, ValueError, RecursionError):  # damaged, not needed
        return []


def _looks_like_ids(column: Any) -> bool:
    """Return whether an Arrow column holds different texts, or numbers the rows."""
    kind = str(column.type)
    if "string" in kind:
        texts = _texts(column)
        return all(map(is_whole, texts)) and len(set(texts)) == len(texts)
    if not kind.startswith(("int", "uint")) or column.null_count or not len(column):
        return False
    values = column.to_numpy()
    if int(values.max()) - int(values.min()) != len(values) - 1:
        return False
    return are_row_numbers(_texts(column))


def _texts(column: Any) -> list[str]:
    """Return the cells of an Arrow column as text, "" for a missing one."""
    found: list[str] = []
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            words = [_text(value) for value in chunk.dictionary.to_pylist()]
            places = chunk.indices.to_pylist()
            found += ("" if place is None else words[place] for place in places)
        else:
            found += map(_text, chunk.to_pylist())
    return found


def _text(value: object) -> str:
    """Return a cell as text."""
    return "" if value is None else str(value)


def _numbers(column: Any, name: str) -> FloatArray:
    """Return an Arrow column as float64; missing cells are NaN."""
    kind = str(column.type)
    if _is_date(kind):
        days = column.to_numpy().astype("datetime64[us]") - np.datetime64(0, "D")
        return np.asarray(days / np.timedelta64(1, "D"))
    if kind.startswith("decimal"):
        column, kind = column.cast("float64"), "double"
    if not kind.startswith(("int", "uint", "float", "double", "half", "bool")):
        raise not_numeric(f"{name!r} is of type {kind}")
    if column.null_count or kind == "bool":
        return np.array(column.to_pylist(), dtype=np.float64)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def read_h5ad(source: Source, options: ReadOptions) -> Table:
    """Read annotated data: X, a matrix of obsm, or with precomputed one of obsp."""
    with extra("anndata", "anndata"):
        from anndata import read_h5ad as load
    if source.path == "-":
        raise ContentError("h5ad cannot be piped. Pass the name of a file.")
    check_hdf5(source)
    data = load(source.path)
    X, names = _h5ad_samples(data, options)
    labels = None
    if options.label_column is not None:
        column = _entry(data.obs, str(options.label_column), "obs")
        labels = as_labels(["" if v != v else str(v) for v in column.tolist()])
    return Table(
        sparse.csr_array(check_sparse(X)) if sparse.issparse(X) else np.asarray(X),
        ids=[str(name) for name in data.obs_names],
        id_name=data.obs_names.name,
        names=names,
        labels=labels,
        label_name=None if labels is None else str(options.label_column),
    )


def _h5ad_samples(
    data: "AnnData", options: ReadOptions
) -> tuple[Matrix, list[str] | None]:
    """Return the requested matrix, and the names of its columns."""
    if options.precomputed:
        settings = data.uns.get("neighbors", {})  # where scanpy keeps the graph
        default = str(settings.get("connectivities_key", "connectivities"))
        return _entry(data.obsp, options.named("obsp") or default, "obsp"), None
    if (name := options.named("obsm")) is not None:
        return _entry(data.obsm, name, "obsm"), None
    if data.X is None:
        raise ContentError('it has no X. Select a matrix by columns="obsm:NAME".')
    names = [str(name) for name in data.var_names]
    listed = options.listed()
    if listed is None:
        return data.X, names
    kept = [position(c, names, len(names), "columns") for c in listed]
    return check_sparse(data.X)[:, kept], [names[j] for j in kept]


def _entry(entries: Mapping[str, Any], key: str, what: str) -> Any:
    """Return a named matrix or column."""
    if key not in entries:
        known = shortened(list(entries)) or "none"
        raise ContentError(
            f"there is no {what} entry {key!r}; there are: {known}. Select one with "
            f'columns="{what}:NAME".'
        )
    return entries[key]
