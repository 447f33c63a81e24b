"""Truth values, dates, amounts and text: decided by the whole column."""

import numpy as np
import pandas as pd
import pytest

from lordclust.files import InputError, read

DAY = 19783  # 2024-03-01


def table(tmp_path, column, name="t.csv", **options):
    """Read a column beside one of plain numbers."""
    path = tmp_path / name
    frame = pd.DataFrame({"x": 2 * np.arange(len(column)), "v": column})
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t")
    return read(path, **options)


def refused(tmp_path, cells, **options):
    with pytest.raises(InputError) as caught:
        table(tmp_path, cells, **options)
    return caught.value.message


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize(
    ("cells", "values", "kind"),
    [
        (["TRUE", "FALSE", "TRUE"], [1, 0, 1], "boolean"),
        (["yes", "No", "no"], [1, 0, 0], "boolean"),
        (["N", "Y", "N"], [0, 1, 0], "boolean"),
        (["$55,776", "$40,000", "$950"], [55776, 40000, 950], "number ."),
        (["55.776,00", "1,5", "-3"], [55776, 1.5, -3], "number ,"),
        (["€ 1 200,50", "€ 7", "12 €"], [1200.5, 7, 12], "number ,"),
        (["1.200 EUR", "1.300 EUR", "5 EUR"], [1200, 1300, 5], "number ,"),
        (["1'200.50", "2\u202f000", "3"], [1200.5, 2000, 3], "number ."),
        (["1,234,567", "1,234", "2"], [1234567, 1234, 2], "number ."),
        (["1.234.567", "1.234", "2"], [1234567, 1234, 2], "number ,"),
        (["1,234", "0,5", "2"], [1.234, 0.5, 2], "number ,"),
        (["($1,200.50)", "-$3", "−4"], [-1200.5, -3, -4], "number ."),
        (["12%", "7.5 %", "-3%"], [12, 7.5, -3], "percent ."),
        (["12,5%", "7%", "100%"], [12.5, 7, 100], "percent ,"),
        (["2024-03-01", "2024-03-02", "1970-01-01"], [DAY, DAY + 1, 0], "date"),
        (["2024-03-01 12:00", "2024-03-02T06:00:00Z", "2024/03/01"],
         [DAY + 0.5, DAY + 1.25, DAY], "date"),
        (["01.03.2024", "2.3.2024", "02.03.2024"], [DAY, DAY + 1, DAY + 1], "date dmy"),
        (["3/1/2024", "3/13/2024", "3/2/2024"], [DAY, DAY + 12, DAY + 1], "date mdy"),
        (["1/3/2024", "13/3/2024", "2/3/2024"], [DAY, DAY + 12, DAY + 1], "date dmy"),
        (["1 March 2024", "Mar 2, 2024", "01-Mar-2024"], [DAY, DAY + 1, DAY], "date"),
    ],
)  # fmt: skip
def test_columns_are_decided_as_a_whole(tmp_path, name, cells, values, kind):
    loaded = table(tmp_path, cells, name)
    assert loaded.X[:, 1].tolist() == values
    assert loaded.kinds[1] == kind
    assert loaded.notes[0].startswith("read as numbers: 'v' (")
    assert f"({cells[0]} = " in loaded.notes[0]
    gaps = table(tmp_path, [*cells, "", "n/a"], name, missing="keep")
    np.testing.assert_array_equal(gaps.X[:, 1], [*values, np.nan, np.nan])


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["$5", "$7", "free"], "column 'v' holds text, 'free' in line 4"),
        (["5", "7", "many"], "column 'v' holds text, 'many' in line 4"),
        (
            ["2024-03-01", "2024-03-02", "soon"],
            "holds dates; the first cell that differs is 'soon' in line 4",
        ),
        (
            ["2024-03-01", "2024-02-30"],
            "holds dates; the first cell that differs is '2024-02-30' in line 3",
        ),
        (["1/2/2024", "2/3/2024"], "such as '1/2/2024' in line 2, in which day and"),
        (
            ["13/1/2024", "1/13/2024"],
            "holds dates; the first cell that differs is '1/13/2024' in line 3",
        ),
        (["$5", "€5"], "different units: '$5' in line 2 and '€5' in line 3"),
        (["12%", "0.12"], "different units: '12%' in line 2 and '0.12' in line 3"),
        (["1,234", "950"], "such as '1,234' in line 2, in which the comma may be"),
        (
            ["1,5", "2,5", "1.5"],
            "decimal commas; the first cell that differs is '1.5' in line 4",
        ),
    ],
)
def test_what_cannot_be_decided_is_refused(tmp_path, cells, words):
    message = refused(tmp_path, cells)
    assert words in message
    assert message.count(". ") == 1


def test_the_decimal_sign_is_that_of_other_columns_or_given(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;c\n1,5;1.234;2,5\n2,5;2.345;3,5\n")
    assert read(path).X[:, 1].tolist() == [1234, 2345]
    path.write_text('a,b\n1.5,"1,234"\n2.5,"2,345"\n')
    assert read(path).X[:, 1].tolist() == [1234, 2345]
    path.write_text("a;b\n1,234;7\n2,345;8\n")
    with pytest.raises(InputError, match="the comma may be decimal or separate"):
        read(path)
    assert read(path, decimal=",").X[:, 0].tolist() == [1.234, 2.345]
    assert read(path, decimal=".").X[:, 0].tolist() == [1234, 2345]
    assert read(path, kinds={"a": "number ,"}).X[:, 0].tolist() == [1.234, 2.345]
    path.write_text("a;b\n1.234;7\n2.345;8\n")
    assert read(path).X[:, 0].tolist() == [1.234, 2.345]  # as Python writes numbers
    assert read(path, decimal=",").X[:, 0].tolist() == [1234, 2345]
    with pytest.raises(ValueError, match="Unknown decimal 'x'"):
        read(path, decimal="x")


def test_an_earlier_file_decides_the_order_of_dates(tmp_path):
    cells = ["1/2/2024", "2/3/2024"]
    days = table(tmp_path, cells, kinds={"v": "date dmy"}).X[:, 1]
    assert days.tolist() == [DAY - 29, DAY + 1]


def test_text_is_left_out_in_one_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("region,x,plan,y\nNorth,1,a,2\nNorth,2,b,4\nSouth,3,a,5\n")
    loaded = read(path)
    assert (loaded.names, loaded.ids) == (["x", "y"], None)
    assert loaded.notes == (
        "columns 'region', 'plan' hold text and are left out. Use categories with "
        "categorical, or name the ids with id_column.",
    )
    assert read(path, drop="region,plan").notes == ()
    assert read(path, drop=["region", "y", "plan"]).names == ["x"]
    loaded = read(path, categorical="plan", drop=[0])
    assert loaded.categories == {"plan": ["a", "b", "a"]}
    assert (loaded.names, loaded.notes) == (["x", "y"], ())
    with pytest.raises(InputError, match="drop is 'z'"):
        read(path, drop="z")


def test_text_after_many_numbers_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("lordclust.files.text._CHUNK", 10)
    cells = [str(i) for i in range(0, 40, 2)]
    assert table(tmp_path, [*cells, "$1,200.50"]).X[-1, 1] == 1200.5
    assert "'many' in line 22" in refused(tmp_path, [*cells, "many"])
    assert table(tmp_path, [*cells, *"abcdefghijklmnopqrstuvwxyz"]).names == ["x"]


def test_decimal_signs_that_change_in_the_middle_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("lordclust.files.text._CHUNK", 10)
    path = tmp_path / "t.csv"
    cells = [f"{i},5" for i in range(20)] + [f"{i}.5" for i in range(15)]
    path.write_text("v;x\n" + "".join(f"{c};{i * i}\n" for i, c in enumerate(cells)))
    with pytest.raises(
        InputError,
        match=r"decimal commas; the first cell that differs is '0.5' in line 22",
    ):
        read(path)


def test_columns_of_arrays_cannot_be_dropped(tmp_path):
    np.save(tmp_path / "t.npy", np.eye(3))
    for name in ("drop", "categorical"):
        with pytest.raises(InputError, match=f"{name} is for columns of csv, tsv"):
            read(tmp_path / "t.npy", **{name: "0"})


def test_row_numbers_may_have_gaps(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "n,x\n" + "".join(f"{i if i % 7 else ''},{i}.5\n" for i in range(30))
    )
    assert read(path, missing="keep").names == ["n", "x"]


def test_long_columns_are_decided_as_short_ones_are(tmp_path):
    rng = np.random.default_rng(0)
    cells = [f"${v:,}" for v in rng.integers(10**6, size=3000).tolist()]
    assert table(tmp_path, cells).kinds[1] == "number ."
    cells[2500] = "free"
    assert "'free' in line 2502" in refused(tmp_path, cells)
    rare = ["" if i % 50 else f"{i + 1}%" for i in range(3000)]
    assert table(tmp_path, rare, missing="keep").kinds[1] == "percent"
    assert table(tmp_path, [f"a{i}" for i in range(3000)]).names == ["x"]


def test_cells_are_kept_as_they_are(tmp_path):
    for name in ("t.csv", "t.parquet"):
        loaded = table(tmp_path, ["$5", " 6", ""], name, cells=True, missing="keep")
        assert loaded.cells["x"] == ["0", "2", "4"]
        assert [c.strip() for c in loaded.cells["v"]] == ["$5", "6", ""]


def test_dates_of_parquet(tmp_path):
    frame = pd.DataFrame(
        {"x": [0.5, 1.5, 2.5], "y": pd.to_datetime(["2024-03-01"] * 3)}
    )
    frame.loc[1, "y"] = None
    frame.to_parquet(tmp_path / "t.parquet")
    loaded = read(tmp_path / "t.parquet", missing="keep")
    np.testing.assert_array_equal(loaded.X[:, 1], [DAY, np.nan, DAY])
    assert loaded.kinds == ["number", "date"]


FORMS = {
    "us": lambda v: f"{v:,.2f}",
    "de": lambda v: f"{v:,.2f}".translate(str.maketrans(",.", ".,")),
    "fr": lambda v: f"{v:,.2f}".replace(",", " ").replace(".", ","),
    "ch": lambda v: f"{v:,.2f}".replace(",", "'"),
    "$": lambda v: f"${v:,.0f}",
    "eur": lambda v: f"{v:,.0f} €".replace(",", "."),
    "thousands": lambda v: f"{v:,.0f}",
    "decimal comma": lambda v: f"{v:.3f}".replace(".", ","),
    "percent": lambda v: f"{v:.1f}%",
    "plain": repr,
    "boolean": lambda v: "yes" if v > 10 else "no",
    "date": lambda v: str(np.datetime64(int(v) % 20000, "D")),
    "us date": lambda v: pd.Timestamp(int(v) % 20000, unit="D").strftime("%m/%d/%Y"),
}
TRUTH = {
    "$": round, "eur": round, "thousands": round,
    "percent": lambda v: float(f"{v:.1f}"),
    "decimal comma": lambda v: float(f"{v:.3f}"),
    "plain": float,
    "boolean": lambda v: float(v > 10),
    "date": lambda v: int(v) % 20000,
    "us date": lambda v: int(v) % 20000,
}  # fmt: skip


def test_random_columns_are_read_right_or_refused(tmp_path):
    rng, refusals, n_tables = np.random.default_rng(0), 0, 200
    for _ in range(n_tables):
        kinds = rng.choice(list(FORMS), size=3)
        n = int(rng.integers(2, 12))
        X = 10 ** rng.uniform(-1, 7, size=(n, 3)).round(1)
        X = np.where(np.abs(X - 10) < 1, 7.0, X)
        columns = list(zip(kinds, X.T.tolist(), strict=True))
        frame = pd.DataFrame(
            {f"c{j}": map(FORMS[k], v) for j, (k, v) in enumerate(columns)}
        )
        frame["c3"] = [f"{i + 0.25}" for i in range(n)]
        separator, path = ",;\t"[rng.integers(3)], tmp_path / "t.csv"
        encoding = str(rng.choice(["utf-8", "cp1252", "utf-16"]))
        frame.to_csv(path, index=False, sep=separator, encoding=encoding)
        try:
            loaded = read(path, id_column=False)
        except InputError:
            refusals += 1
            continue
        truth = [list(map(TRUTH.get(k, lambda v: float(f"{v:.2f}")), column))
                 for k, column in columns]  # fmt: skip
        assert loaded.names == ["c0", "c1", "c2", "c3"]
        np.testing.assert_allclose(loaded.X[:, :3].T, truth, rtol=1e-12)
    assert refusals < 0.3 * n_tables


def test_dates_in_the_first_column_are_ids_unless_one_is_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day,x\n2024-03-01,0.5\n2024-03-02,1.5\n")
    loaded = read(path)
    assert loaded.ids == ["2024-03-01", "2024-03-02"]
    assert (
        "column 'day' looks like ids and is used as such, not as a feature"
        in loaded.notes[0]
    )
    path.write_text("day,x\n2024-03-01,0.5\nNA,1.5\n")
    loaded = read(path, missing="keep")
    assert (loaded.ids, loaded.names) == (None, ["day", "x"])
    np.testing.assert_array_equal(loaded.X, [[DAY, 0.5], [np.nan, 1.5]])
