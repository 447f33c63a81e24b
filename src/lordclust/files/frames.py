"""Tables of other libraries: Parquet by pyarrow, h5ad by anndata."""

from typing import Any

import numpy as np
from scipy import sparse

from lordclust._core.validation import missing_extra
from lordclust.files.error import InputError, allowance
from lordclust.files.hdf5 import check_hdf5
from lordclust.files.source import Source
from lordclust.files.table import (
    Places,
    Table,
    Wish,
    as_labels,
    names_ids,
    position,
    shortened,
    sound,
)


def read_parquet(source: Source, wish: Wish) -> Table:
    """Read a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise missing_extra("pyarrow", "parquet") from None
    path = source.path
    with source.open() as file:
        schema = parquet.read_schema(file)
        names = list(schema.names)
        places = Places.of(wish, names, len(names), path)
        wanted = _wanted(places, schema, path)
        # A text of a million letters may stand for a million cells: it stays one.
        texts = [names[j] for j in wanted if _is_text(schema.field(j).type)]
        reader = parquet.ParquetFile(file, read_dictionary=texts)
        _check_size(reader.metadata, source)
        table = reader.read([names[j] for j in wanted])
    label, id_column = places.label, places.id
    if names and places.first_is_free():
        named = names_ids(names[0]) or _tells_apart(table.column(names[0]))
        id_column = 0 if named else None
    chosen = places.rest(len(names), id_column)
    columns = [_numbers(table.column(names[j]), names[j], path) for j in chosen]
    return Table(
        np.column_stack(columns) if columns else np.empty((table.num_rows, 0)),
        ids=None if id_column is None else _texts(table.column(names[id_column])),
        id_name=None if id_column is None else names[id_column],
        names=[names[j] for j in chosen],
        labels=None if label is None else as_labels(_texts(table.column(names[label]))),
        label_name=None if label is None else names[label],
        source=path,
    )


def _wanted(places: Places, schema: Any, path: str) -> list[int]:
    """Return the columns to read, if each has one value a row."""
    names = list(schema.names)
    found = set(places.rest(len(names), places.id)) | {places.label, places.id}
    if places.first_is_free() and names:
        found.add(0)  # it may hold ids
    wanted = sorted(j for j in found if j is not None)
    for j in wanted:
        kind = str(schema.field(j).type)
        if kind.startswith(("list", "large_list", "fixed_size", "struct", "map")):
            raise _no_number(names[j], kind, path)
        if names.count(names[j]) > 1:
            raise InputError(path, f"two columns are called {names[j]!r}. Rename one.")
    return wanted


def _check_size(metadata: Any, source: Source) -> None:
    """Refuse a table that unpacks to more than is plausible."""
    most = allowance(source.size)
    packed = sum(
        metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups)
    )
    cells = metadata.num_rows * metadata.num_columns
    if cells < 0 or max(8 * cells, packed) > most:
        raise InputError(
            source.path,
            f"it claims {metadata.num_rows} rows of {metadata.num_columns} columns, "
            f"more than the {most // 2**20} MB that its size makes plausible. Write it "
            "as csv or npy if it is yours.",
        )


def _is_text(kind: Any) -> bool:
    """Tell whether a type of Arrow is text, or bytes."""
    return any(word in str(kind) for word in ("string", "binary"))


def _tells_apart(column: Any) -> bool:
    """Tell whether a column of Arrow holds text that tells samples apart."""
    if "string" not in str(column.type):
        return False
    return len(set(_texts(column))) == len(column)


def _texts(column: Any) -> list[str]:
    """Return the cells of a column of Arrow as text, "" where one is missing."""
    found: list[str] = []
    for chunk in column.chunks:
        if hasattr(chunk, "dictionary"):
            words = [_text(value) for value in chunk.dictionary.to_pylist()]
            places = chunk.indices.to_pylist()
            found += ("" if place is None else words[place] for place in places)
        else:
            found += map(_text, chunk.to_pylist())
    return found


def _text(value: Any) -> str:
    """Return a cell as text."""
    return "" if value is None else str(value)


def _numbers(column: Any, name: str, path: str) -> Any:
    """Return a column of Arrow as float64; missing cells are NaN."""
    kind = "string" if _is_text(column.type) else str(column.type)
    if not kind.startswith(("int", "uint", "float", "double", "half", "bool")):
        raise _no_number(name, kind, path)
    if column.null_count or kind == "bool":
        return np.array(column.to_pylist(), dtype=np.float64)
    return np.asarray(column.to_numpy(), dtype=np.float64)


def _no_number(name: str, kind: str, path: str) -> InputError:
    """Return the error for a column that is no feature."""
    return InputError(
        path,
        f"column {name!r} is of type {kind}, but features are numbers. Leave it out "
        "with columns (--columns), or say that it is label_column (--label-column) or "
        "id_column (--id-column).",
    )


def read_h5ad(source: Source, wish: Wish) -> Table:
    """Read annotated data: X, a matrix of obsm, or with precomputed one of obsp."""
    try:
        from anndata import read_h5ad as load
    except ImportError:
        raise missing_extra("anndata", "anndata") from None
    if source.path == "-":
        raise InputError("-", "h5ad cannot be piped. Give the name of a file.")
    check_hdf5(source)
    data = load(source.path)
    X, names = _h5ad_samples(data, source.path, wish)
    return Table(
        sparse.csr_array(sound(X)) if sparse.issparse(X) else np.asarray(X),
        ids=[str(name) for name in data.obs_names],
        id_name=data.obs_names.name,
        names=names,
        labels=_h5ad_labels(data, source.path, wish),
        label_name=None if wish.label_column is None else str(wish.label_column),
        source=source.path,
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
    return sound(data.X)[:, kept], [names[j] for j in kept]


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
