"""Files of other libraries: Parquet with pyarrow, h5ad with anndata."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lordclust._core.typing import FloatArray
from lordclust._core.validation import missing_extra
from lordclust.files.error import InputError, allowance, check_unpacked
from lordclust.files.hdf5 import check_hdf5
from lordclust.files.source import Source
from lordclust.files.table import (
    Matrix,
    ReadOptions,
    Roles,
    Table,
    as_labels,
    check_sparse,
    names_ids,
    not_numeric,
    position,
    shortened,
)

if TYPE_CHECKING:
    from anndata import AnnData


def read_parquet(source: Source, options: ReadOptions) -> Table:
    """Read a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet") from None
    path = source.path
    with source.open() as file:
        schema = parquet.read_schema(file)
        names = list(schema.names)
        roles = Roles.of(options, names, len(names), path)
        wanted = _columns_to_read(roles, schema, path)
        # A text of a million letters may be repeated in a million cells: keep it once.
        texts = [names[j] for j in wanted if _is_text(schema.field(j).type)]
        reader = parquet.ParquetFile(file, read_dictionary=texts)
        _check_size(reader.metadata, source)
        table = reader.read([names[j] for j in wanted])
    if roles.first_is_free():
        first = table.column(names[0])
        if names_ids(names[0]) or _is_unique_text(first):
            roles = roles.with_ids(0)
    columns = [_numbers(table.column(names[j]), names[j], path) for j in roles.features]
    X = np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
    return roles.table(X, lambda j: _texts(table.column(names[j])), path)


def _columns_to_read(roles: Roles, schema: Any, path: str) -> list[int]:
    """Return the columns to read; raise an error unless each has one value per row."""
    names = list(schema.names)
    found = {*roles.features, roles.label, roles.id}
    if roles.first_is_free():
        found.add(0)  # it may hold ids
    wanted = sorted(j for j in found if j is not None)
    for j in wanted:
        kind = str(schema.field(j).type)
        if kind.startswith(("list", "large_list", "fixed_size", "struct", "map")):
            raise not_numeric(path, f"{names[j]!r} is of type {kind}")
        if names.count(names[j]) > 1:
            raise InputError(path, f"two columns are called {names[j]!r}. Rename one.")
    return wanted


def _check_size(metadata: Any, source: Source) -> None:
    """Raise an error for a table whose unpacked size is not plausible."""
    groups = range(metadata.num_row_groups)
    unpacked = sum(metadata.row_group(i).total_byte_size for i in groups)
    cells = metadata.num_rows * metadata.num_columns
    check_unpacked(
        source.path,
        float("inf") if cells < 0 else max(8 * cells, unpacked),
        allowance(source.size),
        "Write it as csv or npy if it is yours.",
    )


def _is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text or bytes."""
    return any(word in str(kind) for word in ("string", "binary"))


def _is_unique_text(column: Any) -> bool:
    """Return whether an Arrow column holds text without duplicates."""
    return "string" in str(column.type) and len(set(_texts(column))) == len(column)


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


def _numbers(column: Any, name: str, path: str) -> FloatArray:
    """Return an Arrow column as float64; missing cells are NaN."""
    kind = "string" if _is_text(column.type) else str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "half", "bool")):
        raise not_numeric(path, f"{name!r} is of type {kind}")
    if column.null_count or kind == "bool":
        return np.array(column.to_pylist(), dtype=np.float64)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def read_h5ad(source: Source, options: ReadOptions) -> Table:
    """Read annotated data: X, a matrix of obsm, or with precomputed one of obsp."""
    try:
        from anndata import read_h5ad as load
    except ImportError:
        raise missing_extra("anndata", "anndata") from None
    if source.path == "-":
        raise InputError("-", "h5ad cannot be piped. Pass the name of a file.")
    check_hdf5(source)
    data = load(source.path)
    X, names = _h5ad_samples(data, source.path, options)
    labels = None
    if options.label_column is not None:
        column = _entry(data.obs, str(options.label_column), "obs", source.path)
        labels = as_labels(["" if v != v else str(v) for v in column.tolist()])
    return Table(
        sparse.csr_array(check_sparse(X)) if sparse.issparse(X) else np.asarray(X),
        ids=[str(name) for name in data.obs_names],
        id_name=data.obs_names.name,
        names=names,
        labels=labels,
        label_name=None if labels is None else str(options.label_column),
        source=source.path,
    )


def _h5ad_samples(
    data: "AnnData", path: str, options: ReadOptions
) -> tuple[Matrix, list[str] | None]:
    """Return the requested matrix, and the names of its columns."""
    if options.precomputed:
        settings = data.uns.get("neighbors", {})  # where scanpy keeps the graph
        default = str(settings.get("connectivities_key", "connectivities"))
        return _entry(data.obsp, options.named("obsp") or default, "obsp", path), None
    if (name := options.named("obsm")) is not None:
        return _entry(data.obsm, name, "obsm", path), None
    if data.X is None:
        raise InputError(path, 'it has no X. Select a matrix by columns="obsm:NAME".')
    names = [str(name) for name in data.var_names]
    listed = options.listed()
    if listed is None:
        return data.X, names
    kept = [position(c, names, len(names), path, "columns") for c in listed]
    return check_sparse(data.X)[:, kept], [names[j] for j in kept]


def _entry(entries: Mapping[str, Any], key: str, what: str, path: str) -> Any:
    """Return a named matrix or column."""
    if key not in entries:
        known = shortened(list(entries)) or "none"
        raise InputError(
            path,
            f"there is no {what} entry {key!r}; there are: {known}. Select one with "
            f'columns="{what}:NAME".',
        )
    return entries[key]
