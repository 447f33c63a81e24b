"""Tables of other libraries: Parquet by pyarrow, h5ad by anndata."""

from typing import Any

import numpy as np
from scipy import sparse

from lordclust._validation import missing_extra
from lordclust.files.error import InputError, allowance
from lordclust.files.source import Source
from lordclust.files.table import (
    Places,
    Table,
    Wish,
    as_labels,
    names_ids,
    position,
    shortened,
)


def read_parquet(source: Source, wish: Wish) -> Table:
    """Read a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet") from None
    with source.open() as file:
        reader = parquet.ParquetFile(file)
        _check_size(reader.metadata, source)
        table = reader.read()
    names, path = list(table.column_names), source.path
    places = Places.of(wish, names, len(names), path)
    label, id_column = places.label, places.id
    if names and places.first_is_free():
        named = names_ids(names[0]) or _is_text(table.column(0))
        id_column = 0 if named else None
    chosen = places.rest(len(names), id_column)
    columns = [_numbers(table.column(j), names[j], path) for j in chosen]
    return Table(
        np.column_stack(columns) if columns else np.empty((table.num_rows, 0)),
        ids=None if id_column is None else _texts(table.column(id_column)),
        id_name=None if id_column is None else names[id_column],
        names=[names[j] for j in chosen],
        labels=None if label is None else as_labels(_texts(table.column(label))),
        label_name=None if label is None else names[label],
        source=path,
    )


def _check_size(metadata: Any, source: Source) -> None:
    """Refuse a table that unpacks to more than is plausible."""
    cells, most = metadata.num_rows * metadata.num_columns, allowance(source.size)
    if 8 * cells > most:
        raise InputError(
            source.path,
            f"it claims {metadata.num_rows} rows of {metadata.num_columns} columns, "
            f"more than the {most // 2**20} MB that its size makes plausible. Write it "
            "as csv or npy if it is yours.",
        )


def _is_text(column: Any) -> bool:
    """Tell whether a column of Arrow holds text that tells samples apart."""
    if "string" not in str(column.type):
        return False
    return len(set(column.to_pylist())) == len(column)


def _texts(column: Any) -> list[str]:
    """Return the cells of a column of Arrow as text, "" where one is missing."""
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _numbers(column: Any, name: str, path: str) -> Any:
    """Return a column of Arrow as float64; missing cells are NaN."""
    kind = str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "half", "bool")):
        raise InputError(
            path,
            f"column {name!r} is of type {kind}, but features are numbers. Leave it "
            "out with columns (--columns), or say that it is label_column "
            "(--label-column) or id_column (--id-column).",
        )
    if column.null_count or kind == "bool":
        return np.array(column.to_pylist(), dtype=np.float64)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def read_h5ad(source: Source, wish: Wish) -> Table:
    """Read annotated data: X, a matrix of obsm, or with precomputed one of obsp."""
    try:
        from anndata import read_h5ad as load
    except ImportError:
        raise missing_extra("anndata", "anndata") from None
    if source.path == "-":
        raise InputError("-", "h5ad cannot be piped. Give the name of a file.")
    _check_hdf5(source)
    data = load(source.path)
    X, names = _h5ad_samples(data, source.path, wish)
    return Table(
        sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X),
        ids=[str(name) for name in data.obs_names],
        id_name=data.obs_names.name,
        names=names,
        labels=_h5ad_labels(data, source.path, wish),
        label_name=None if wish.label_column is None else str(wish.label_column),
        source=source.path,
    )


def _check_hdf5(source: Source) -> None:
    """Refuse matrices that unpack to more than is plausible."""
    import h5py  # anndata needs it too

    sizes: list[int] = []

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.size is not None:
            sizes.append(int(item.size) * item.dtype.itemsize)

    with h5py.File(source.path, "r") as file:
        file.visititems(add)
    most = allowance(source.size)
    if sum(sizes) > most:
        raise InputError(
            source.path,
            f"it unpacks to {sum(sizes) / 2**20:.0f} MB, more than the "
            f"{most // 2**20} MB that its size makes plausible. Write it without "
            "compression if it is yours.",
        )


def _h5ad_samples(data: Any, path: str, wish: Wish) -> tuple[Any, list[str] | None]:
    """Return the matrix asked for, and the names of its columns."""
    if wish.precomputed:
        key = wish.named("obsp") or _neighbors_key(data)
        return _entry(data.obsp, key, "obsp", path), None
    if (name := wish.named("obsm")) is not None:
        return _entry(data.obsm, name, "obsm", path), None
    if data.X is None:
        raise InputError(path, 'it holds no X. Name a matrix with columns="obsm:NAME".')
    names = [str(name) for name in data.var_names]
    listed = wish.listed()
    if listed is None:
        return data.X, names
    kept = [position(c, names, len(names), path, "columns") for c in listed]
    return data.X[:, kept], [names[j] for j in kept]


def _neighbors_key(data: Any) -> str:
    """Return where scanpy keeps the graph."""
    settings = data.uns.get("neighbors", {})
    return str(settings.get("connectivities_key", "connectivities"))


def _entry(place: Any, key: str, what: str, path: str) -> Any:
    """Return a named matrix, or say which there are."""
    if key not in place:
        known = shortened(list(place)) or "none"
        raise InputError(
            path,
            f"there is no {what} entry {key!r}; there are: {known}. Name one with "
            f'columns="{what}:NAME".',
        )
    return place[key]


def _h5ad_labels(data: Any, path: str, wish: Wish) -> Any:
    """Return a column of obs."""
    if wish.label_column is None:
        return None
    column = _entry(data.obs, str(wish.label_column), "obs", path)
    return as_labels(["" if v != v else str(v) for v in column.tolist()])
