"""Tables as text, as people have them."""

import gzip
import io
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lordclust.files import InputError, read, write_table
from lordclust.files.text import sniffed


def table(tmp_path, text, name="t.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read(path, **options)


def sentence(tmp_path, text, name="t.csv", **options):
    with pytest.raises(InputError) as caught:
        table(tmp_path, text, name, **options)
    assert caught.value.path == str(tmp_path / name)
    assert isinstance(caught.value, ValueError)
    return str(caught.value).removeprefix(f"{tmp_path}/")


@pytest.mark.parametrize(
    ("text", "names", "X"),
    [
        ("1,2\n3,4\n", None, [[1, 2], [3, 4]]),
        ("a,b\n1,2\n3,4\n", ["a", "b"], [[1, 2], [3, 4]]),
        ("a;b\n1;2\n3;4\n", ["a", "b"], [[1, 2], [3, 4]]),
        ("a\tb\n1\t2\n", ["a", "b"], [[1, 2]]),
        ("a;b\n1,5;2\n3,25;4\n", ["a", "b"], [[1.5, 2], [3.25, 4]]),
        ("1,5;2,5\n3,5;4,5\n", None, [[1.5, 2.5], [3.5, 4.5]]),
        ("\ufeffa,b\r\n1,2\r\n", ["a", "b"], [[1, 2]]),
        ('"a, b",c\n"1", 2\n', ["a, b", "c"], [[1, 2]]),
        ("x\n1\n2\n", ["x"], [[1], [2]]),
        ("1e3,-2\n+.5,0\n\n\n", None, [[1000, -2], [0.5, 0]]),
        ("a,b\n1,2", ["a", "b"], [[1, 2]]),
        ("\n\na,b\n1,2\n", ["a", "b"], [[1, 2]]),
    ],
)
def test_shapes_of_text(tmp_path, text, names, X):
    loaded = table(tmp_path, text)
    assert loaded.names == names
    assert loaded.X.tolist() == X
    assert loaded.X.dtype == np.float64
    assert loaded.ids is None
    assert loaded.labels is None


def test_the_first_column_of_text_holds_ids(tmp_path):
    loaded = table(tmp_path, "name,x,y\nann,1,2\nbob,3,4\n")
    assert (loaded.ids, loaded.id_name, loaded.names) == (
        ["ann", "bob"],
        "name",
        ["x", "y"],
    )
    assert loaded.X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ["id", "ID", " Id "])
def test_a_first_column_called_id_is_not_a_feature(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text(f"{name},x,y\n1001,1.5,2\n1002,3,4\n")
    loaded = read(path)
    assert (loaded.ids, loaded.id_name) == (["1001", "1002"], name.strip())
    assert loaded.X.tolist() == [[1.5, 2], [3, 4]]
    assert read(path, columns=[0, 1]).X.tolist() == [[1001, 1.5], [1002, 3]]
    path.write_text(f"x,{name}\n1.5,7\n3,8\n")
    assert read(path).ids == ["7", "8"]
    assert read(path, id_column=False).X.tolist() == [[1.5, 7], [3, 8]]
    path.write_text(f"{name},x\n7,1\n7,2\n")
    with pytest.raises(InputError, match="ids, but '7' is in samples 0 and 1"):
        read(path)


def test_an_index_of_pandas_is_not_a_feature(tmp_path):
    pandas = pytest.importorskip("pandas")
    path = tmp_path / "t.csv"
    for columns in (["a", "b"], None):
        pandas.DataFrame([[1.5, 2], [3, 4]], columns=columns).to_csv(path)
        loaded = read(path)
        assert loaded.X.tolist() == [[1.5, 2], [3, 4]]
        assert loaded.ids == ["0", "1"]


def test_roles_by_name_and_by_place(tmp_path):
    text = "x,kind,y,code\n1,a,2,007\n3,b,4,008\n"
    for kind, code in (("kind", "code"), (1, 3), ("1", "3")):
        loaded = table(tmp_path, text, label_column=kind, id_column=code)
        assert loaded.labels.tolist() == ["a", "b"]
        assert (loaded.ids, loaded.names) == (["007", "008"], ["x", "y"])
    assert table(tmp_path, text, columns=["y"]).X.tolist() == [[2], [4]]
    assert table(tmp_path, text, columns="y,x").X.tolist() == [[2, 1], [4, 3]]
    assert table(tmp_path, text, columns=[2, 0]).names == ["y", "x"]


def test_text_that_nobody_asked_for_is_left_alone(tmp_path):
    loaded = table(tmp_path, "city,x,y\nUlm,1,2\nUlm,3,4\n", columns="x,y")
    assert loaded.ids is None
    assert loaded.X.tolist() == [[1, 2], [3, 4]]
    loaded = table(tmp_path, "city,x,y\nUlm,1,2\nBern,3,4\n", columns="x")
    assert loaded.ids == ["Ulm", "Bern"]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [(["3", "1"], [3, 1]), (["3", ""], ["3", ""]), (["01", "1"], ["01", "1"])],
)
def test_labels_are_numbers_only_where_nothing_is_lost(tmp_path, cells, labels):
    text = "x,y\n" + "".join(f"{i},{c}\n" for i, c in enumerate(cells))
    assert table(tmp_path, text, label_column="y").labels.tolist() == labels


def test_a_header_can_be_said(tmp_path):
    assert table(tmp_path, "1,2\n3,4\n", header=True).names == ["1", "2"]
    assert "text, 'a' in line 1" in sentence(
        tmp_path, "1,a\n3,4\n", header=False, columns=[0, 1]
    )


def test_packed_and_piped(tmp_path, monkeypatch):
    text = b"a,b\n1,2\n"
    assert table(tmp_path, gzip.compress(text), "t.csv.gz").X.tolist() == [[1, 2]]
    piped = io.TextIOWrapper(io.BytesIO(text))
    monkeypatch.setattr(sys, "stdin", piped)
    loaded = read("-")
    assert (loaded.X.tolist(), loaded.source) == ([[1, 2]], "-")


def test_rows_of_many_chunks_keep_their_order(tmp_path):
    X = np.random.default_rng(0).normal(size=(12_345, 3))
    path = tmp_path / "t.tsv"
    write_table(
        path,
        {"id": [f"i{i}" for i in range(len(X))], **dict(zip("abc", X.T, strict=True))},
    )
    loaded = read(path)
    np.testing.assert_array_equal(loaded.X, X)
    assert loaded.ids[12_344] == "i12344"


GOLDEN = [
    ("", "the file is empty. Add one line per sample."),
    ("a,b\n", "there is a header but no sample. Add one line per sample."),
    (
        "x,y\n1,2\n2,foo\n3,4\n",
        "column 'y' holds text, 'foo' in line 3, but features must be numbers. Correct "
        "the cell, leave the column out with drop, or declare it with "
        "categorical, label_column or id_column.",
    ),
    (
        "city,town\nBern,Bern\nUlm,Ulm\n",
        "there is no numeric column. Add at least one feature.",
    ),
    (
        "x,y\n1,2\n3,NA\n,5\n",
        "values are missing or infinite in 2 of 6 cells, the first is 'NA' in line 3, "
        "column 'y'. Fill them, or leave out these rows or columns; "
        "--missing median and --missing drop do so.",
    ),
    (
        "1,2\n3,inf\n",
        "values are missing or infinite in 1 of 4 cells, the first is 'inf' in line 2, "
        "column 1 (from 0). Fill them, or leave out these rows or columns; "
        "--missing median and --missing drop do so.",
    ),
    (
        "x,y\n1,2\n3\n4,5\n",
        "line 3 has 1 cells, the lines above have 2. Write one cell per column "
        "in every line.",
    ),
    (
        "x,y\n1,2\n\n4,5\n",
        "line 3 has no cells, the lines above have 2. Write one cell per column "
        "in every line.",
    ),
    (
        'x,y\n1,2\n3,"4\n5,6\n',
        "line 4 cannot be read (unexpected end of data). Look for a quotation "
        "mark that is not closed.",
    ),
    (
        "x;y\n1,5;2\n1.7;2\n2,3;4\n",
        "column 'x' holds decimal points and decimal commas; the first cell that "
        "differs is '1.7' in line 3. Write all cells alike, or leave the column out "
        "with drop.",
    ),
    (
        "x,y\n1,1_000\n2,2\n",
        "column 'y' holds text, '1_000' in line 2, but features must be numbers. "
        "Correct the cell, leave the column out with drop, or declare it with "
        "categorical, label_column or id_column.",
    ),
    (
        "id,x\na,1\nb,2\na,3\n",
        "column 'id' looks like ids, but 'a' is in samples 0 and 2 (from 0). "
        "Declare it with id_column or label_column, or "
        "leave it out with columns.",
    ),
]


@pytest.mark.parametrize(("text", "expected"), GOLDEN)
def test_sentences(tmp_path, text, expected):
    assert sentence(tmp_path, text) == f"t.csv: {expected}"


def test_sentences_about_columns(tmp_path):
    text = "x,y,y\n1,2,3\n"
    assert sentence(tmp_path, text, columns="z") == (
        "t.csv: columns is 'z', but the file has columns x, y, y and 3 columns. "
        "Pass a name from the header, or a position from 0 to 2."
    )
    assert sentence(tmp_path, text, label_column="y") == (
        "t.csv: label_column is 'y', but 2 columns have that name. Rename them, "
        "or pass positions from 0."
    )
    assert "has no header and 2 columns" in sentence(
        tmp_path, "1,2\n3,4\n", columns="a"
    )


LETTERS = "id;x;y\nJürgen;1,5;2\nZoë;3,5;4\n"


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("cp1252", "cp1252"),
        ("latin-1", "cp1252"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
        ("utf-32", "utf-32"),
    ],
)
def test_encodings_are_detected_and_can_be_given(tmp_path, encoding, said):
    for name, pack in (("t.csv", bytes), ("t.csv.gz", gzip.compress)):
        loaded = table(tmp_path, pack(LETTERS.encode(encoding)), name)
        assert (loaded.ids, loaded.X[0].tolist()) == (["Jürgen", "Zoë"], [1.5, 2])
        note = f"the text is not UTF-8 and is read as {said}. Choose otherwise with "
        assert loaded.notes == ((note + "encoding.",) if said else ())
    given = table(tmp_path, LETTERS.encode(encoding), encoding=encoding)
    assert (given.ids, given.notes) == (loaded.ids, ())


def test_encodings_that_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.setattr("lordclust.files.source._BLOCK", 1000)
    # Letters of two bytes lie across the ends of blocks.
    text = "\u00e4,2\n".encode() * 5000 + b"\xe4,2\n"
    assert sentence(tmp_path, text, encoding="utf-8") == (
        "t.csv: the text is not of the encoding utf-8-sig (byte 0xe4 at position "
        "25000). Save it as UTF-8, or pass its encoding with encoding."
    )
    assert "cp1252 (byte 0x81 at position 6)" in sentence(tmp_path, b"x,y\n1,\x81\n")
    for name in ("klingon", "base64"):
        with pytest.raises(ValueError, match="encoding must be the name of"):
            table(tmp_path, text, encoding=name)


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("lordclust.files.error.TEXT_ROOM", 1000)
    packed = gzip.compress(b"0,0\n" * 200_000)
    assert "unpacks to more than" in sentence(tmp_path, packed, "t.csv.gz")


@pytest.mark.parametrize("cut", [0, 1, 5, 12, 20, -1])
def test_cut_gzip(tmp_path, cut):
    packed = gzip.compress(b"1,2\n3,4\n" * 50)
    assert "t.csv.gz: " in sentence(tmp_path, packed[:cut], "t.csv.gz")


def test_an_endless_line_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("lordclust.files.source.LINE", 1000)
    assert "a line is longer than" in sentence(tmp_path, "1," * 5000)


@pytest.mark.parametrize(
    ("lines", "delimiter"),
    [
        (["a;b,c", "1;2"], ";"),
        (["x,y", "a;b,1", "c;d,2"], ","),
        (["1,2;3,4"], ";"),
        (["1"], ","),
    ],
)
def test_delimiters(lines, delimiter):
    assert sniffed(lines) == delimiter


IDS = st.text(
    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6
)  # quotes, newlines, formulas, blanks: all must come back
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(IDS, NUMBERS, NUMBERS), min_size=1, max_size=8), st.data())
def test_what_is_written_is_read(tmp_path_factory, rows, data):
    ids, a, b = (list(column) for column in zip(*rows, strict=True))
    path = tmp_path_factory.mktemp("t") / data.draw(st.sampled_from(["t.csv", "t.tsv"]))
    write_table(path, {"=id": ids, "a": a, "b": b})
    loaded = read(path, id_column="=id", header=True)
    assert loaded.ids == ids
    assert loaded.X.tolist() == [[x, y] for x, y in zip(a, b, strict=True)]
    assert np.array_equal(np.signbit(loaded.X[:, 0]), np.signbit(a))


@given(st.binary(max_size=300))
def test_any_bytes_give_a_table_or_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_bytes(content)
    message = ""
    try:
        assert np.isfinite(read(path).X).all()
    except InputError as error:
        message = str(error)
    assert not message or message.startswith(f"{path}: ")
