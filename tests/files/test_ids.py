"""Ids and headers: recognised in the tables that people write, or refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from lordclust.files import InputError, read

IRIS = load_iris(as_frame=True).data
SHUFFLED = IRIS.sample(frac=1, random_state=0)
NUMBERS = np.random.default_rng(0).normal(size=(31, 3))


def table(tmp_path, text, **options):
    path = tmp_path / "t.csv"
    path.write_text(text)
    return read(path, **options)


def refused(tmp_path, text, **options):
    with pytest.raises(InputError) as caught:
        table(tmp_path, text, **options)
    return caught.value.message


def lines(first, below=NUMBERS):
    """A table whose first column is given."""
    rows = [[a, *row] for a, row in zip(first, below.tolist(), strict=True)]
    return "".join(",".join(map(str, row)) + "\n" for row in rows)


class TestIndexOfPandas:
    @pytest.mark.parametrize(
        "change",
        [
            lambda frame: frame,
            lambda frame: frame.rename_axis("plant"),
            lambda frame: frame.set_index(pd.Index([f"p{i}" for i in frame.index])),
        ],
    )
    def test_a_parquet_file_does_not_give_the_rows_away(self, tmp_path, change):
        change(SHUFFLED).to_parquet(tmp_path / "t.parquet")
        loaded = read(tmp_path / "t.parquet")
        np.testing.assert_array_equal(loaded.X, SHUFFLED.to_numpy())
        assert loaded.names == list(SHUFFLED.columns)
        ids = [str(i) for i in change(SHUFFLED).index]
        assert loaded.ids == ids
        said = "looks like ids and is used as such, not as a feature" in "".join(
            loaded.notes
        )
        assert said == ids[0].isdecimal()

    def test_an_index_that_repeats_is_left_out(self, tmp_path):
        twice = pd.concat([IRIS[:20], IRIS[:20]])
        twice.to_parquet(tmp_path / "t.parquet")
        loaded = read(tmp_path / "t.parquet")
        assert (loaded.X.shape, loaded.ids) == ((40, 4), None)
        assert "is left out" in loaded.notes[0]

    def test_an_index_of_several_levels(self, tmp_path):
        levels = [IRIS.index // 10, [f"p{i}" for i in IRIS.index]]
        frame = IRIS.set_index(pd.MultiIndex.from_arrays(levels))
        frame.to_parquet(tmp_path / "t.parquet")
        loaded = read(tmp_path / "t.parquet")
        assert loaded.X.shape == (150, 4)
        assert loaded.ids == levels[1]

    def test_columns_take_precedence(self, tmp_path):
        SHUFFLED.to_parquet(tmp_path / "t.parquet")
        names = ["__index_level_0__", IRIS.columns[0]]
        assert read(tmp_path / "t.parquet", columns=names).X.shape == (150, 2)
        assert read(tmp_path / "t.parquet", id_column=False).X.shape == (150, 5)

    def test_damaged_metadata_do_not_matter(self, tmp_path):
        import pyarrow
        from pyarrow import parquet

        for metadata in (b"{", b"[]", b'{"index_columns": 3}', b"\xff"):
            columns = pyarrow.table({"x": [0.5, 1.5], "y": [1.5, 2.5]})
            columns = columns.replace_schema_metadata({b"pandas": metadata})
            parquet.write_table(columns, tmp_path / "t.parquet")
            assert read(tmp_path / "t.parquet").X.shape == (2, 2)

    @pytest.mark.parametrize("shuffle", [False, True])
    def test_a_csv_that_was_saved_twice(self, tmp_path, shuffle):
        path = tmp_path / "t.csv"
        (SHUFFLED if shuffle else IRIS).to_csv(path)
        for _ in range(2):
            pd.read_csv(path).to_csv(path)
        loaded = read(path)
        np.testing.assert_array_equal(loaded.X, SHUFFLED if shuffle else IRIS)


class TestHeader:
    def test_columns_numbered_by_pandas(self, tmp_path):
        pd.DataFrame(NUMBERS).to_csv(tmp_path / "t.csv", index=False)
        loaded = read(tmp_path / "t.csv")
        assert (loaded.X.shape, loaded.names) == ((31, 3), ["0", "1", "2"])
        assert "the first line is read as a header" in loaded.notes[0]
        assert read(tmp_path / "t.csv", header=False).X.shape == (32, 3)

    def test_names_beside_years(self, tmp_path):
        for first in ("name,2001,2002", "patient_id,2001,2005", "town,2001,2002"):
            loaded = table(tmp_path, f"{first}\nann,1.5,2.5\nbob,3.5,4.5\n")
            assert loaded.ids == ["ann", "bob"]
            assert loaded.names == first.split(",")[1:]

    def test_years_alone(self, tmp_path):
        loaded = table(tmp_path, "2001,2002,2003\n1.5,2.5,3.5\n3,4.5,5\n4,5,6.5\n")
        assert loaded.names == ["2001", "2002", "2003"]

    @pytest.mark.parametrize(
        "text",
        [
            "0,1\n1,0\n1,1\n",
            "0\n1\n2\n",
            "5,6,7\n1,2,3\n",
            "a,1,2\nb,3,4\n",
            "9,7\n.5,.2\n",
        ],
    )
    def test_what_may_be_both_is_refused(self, tmp_path, text):
        assert refused(tmp_path, text) == (
            "line 1 may be a header or a sample: its numbers are whole. "
            "Pass header=True or header=False."
        )
        n = text.count("\n")
        assert len(table(tmp_path, text, header=True).X) == n - 1
        assert len(table(tmp_path, text, header=False).X) == n

    def test_samples_are_not_a_header(self, tmp_path):
        assert "'foo' in line 1" in refused(tmp_path, "1.5,foo\n2.5,3.5\n3.5,4.5\n")
        for text in ("1,2\n3,4\n", "0.0,1.0\n2.5,3\n", "ann,1,5\nbob,3,4\n"):
            assert table(tmp_path, text).X.shape == (2, 2)
        assert table(tmp_path, "0,1\n1,0\n", precomputed=True).X.shape == (2, 2)


def test_decimal_commas_without_another_column(tmp_path):
    for head in ("", "x\n"):
        text = head + "".join(f"{x:.12f}\n".replace(".", ",") for x in NUMBERS[:, 0])
        assert refused(tmp_path, text).startswith("it looks like one column of numbers")
    assert table(tmp_path, "10,1000000000\n20,7\n30,8\n").X.shape == (3, 2)


class TestTextInTheFirstColumn:
    @pytest.mark.parametrize("cell", ["#N/A", "<NA>", "NaT", "12%", "foo", "1_0", "."])
    @pytest.mark.parametrize("head", ["a,b,c,d\n", ""])
    def test_one_cell_does_not_make_ids(self, tmp_path, cell, head):
        first = [*map(str, NUMBERS[:, 0])]
        first[7] = cell
        message = refused(tmp_path, head + lines(first))
        place = f"{cell!r} in line {9 if head else 8}"
        assert place in message
        assert "column 'a'" in message if head else "column 0 (from 0)" in message

    @pytest.mark.parametrize("cell", ["#N/A", "12%", "foo"])
    def test_nor_in_parquet(self, tmp_path, cell):
        for numbers in (NUMBERS[:, 0], np.arange(31)):
            frame = pd.DataFrame({"a": [*map(str, numbers)], "b": NUMBERS[:, 1]})
            frame.loc[7, "a"] = cell
            frame.to_parquet(tmp_path / "t.parquet", index=False)
            with pytest.raises(InputError) as caught:
                read(tmp_path / "t.parquet")
            message = caught.value.message
            assert "column 'a'" in message
            assert "in row 7" in message
            assert cell in message or "values are missing" in message

    def test_whole_numbers_as_text_are_ids_in_parquet(self, tmp_path):
        codes = [str(1000 + 7 * i) for i in range(31)]
        frame = pd.DataFrame({"a": codes, "b": NUMBERS[:, 1]})
        frame.to_parquet(tmp_path / "t.parquet", index=False)
        assert read(tmp_path / "t.parquet").ids == codes

    def test_ids_may_have_some_numbers(self, tmp_path):
        first = [f"a{i}" if i % 15 else str(i) for i in range(31)]
        loaded = table(tmp_path, "sample,x,y,z\n" + lines(first))
        assert loaded.ids == first


class TestWholeNumbers:
    @pytest.mark.parametrize(
        "name",
        [
            "Unnamed: 0",
            "customer_id",
            "PassengerId",
            "index",
            "row-id",
            "id_patient",
            "rownames",
            "#",
        ],
    )
    @pytest.mark.parametrize("first", [True, False])
    def test_names_of_ids(self, tmp_path, name, first):
        numbers = np.random.default_rng(1).permutation(10**6)[:31]
        frame = pd.DataFrame(NUMBERS, columns=["x", "y", "z"])
        frame.insert(0 if first else 2, name, numbers)
        for write, kind in ((frame.to_csv, "csv"), (frame.to_parquet, "parquet")):
            write(tmp_path / f"t.{kind}", index=False)
            loaded = read(tmp_path / f"t.{kind}")
            assert (loaded.names, loaded.id_name) == (["x", "y", "z"], name)
            assert loaded.ids == [str(i) for i in numbers]
            assert (
                f"column {name!r} looks like ids and is used as such" in loaded.notes[0]
            )

    @pytest.mark.parametrize("name", ["acid", "solid", "glycemic_index", "x", "paid"])
    def test_other_names(self, tmp_path, name):
        frame = pd.DataFrame({name: NUMBERS[:, 0].round(3) * 1000, "y": NUMBERS[:, 1]})
        frame.astype({name: int}).to_csv(tmp_path / "t.csv", index=False)
        assert read(tmp_path / "t.csv").names == [name, "y"]

    def test_measurements_are_features(self, tmp_path):
        frame = pd.DataFrame(NUMBERS, columns=["x", "sensor_id", "z"])
        for write, kind in ((frame.to_csv, "csv"), (frame.to_parquet, "parquet")):
            write(tmp_path / f"t.{kind}", index=False)
            assert read(tmp_path / f"t.{kind}").X.shape == (31, 3)

    def test_the_first_without_duplicates_is_used(self, tmp_path):
        text = "store_id,customer_id,x\n1,7,0.5\n1,8,1.5\n"
        loaded = table(tmp_path, text)
        assert (loaded.ids, loaded.names) == (["7", "8"], ["x"])
        assert "'store_id' looks like ids and is left out" in loaded.notes[0]
        loaded = table(tmp_path, text, id_column="x", columns="store_id")
        assert (loaded.ids, loaded.names) == (["0.5", "1.5"], ["store_id"])
        assert loaded.notes == ()
        assert refused(tmp_path, "store_id,x\n1,0.5\n1,1.5\n").startswith(
            "column 'store_id' looks like ids, but '1' is in samples 0 and 1"
        )

    @pytest.mark.parametrize("start", [0, 1, 1000])
    @pytest.mark.parametrize("head", ["number,x,y,z\n", ""])
    def test_row_numbers_in_any_order(self, tmp_path, start, head):
        order = start + np.random.default_rng(2).permutation(31)
        loaded = table(tmp_path, head + lines(order))
        np.testing.assert_array_equal(loaded.X, NUMBERS)
        assert loaded.ids == [str(i) for i in order]
        assert "looks like ids" in loaded.notes[0]
        both = table(tmp_path, head + lines(order), id_column=False)
        np.testing.assert_array_equal(both.X[:, 0], order)

    @pytest.mark.parametrize("place", [0, 2, 3])
    @pytest.mark.parametrize("kind", [int, float])
    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    def test_row_numbers_at_any_place(self, tmp_path, place, kind, suffix):
        order = np.random.default_rng(2).permutation(31)
        frame = pd.DataFrame(NUMBERS, columns=["x", "y", "z"])
        frame.insert(place, "number", order.astype(kind))
        path = tmp_path / f"t.{suffix}"
        (frame.to_csv if suffix == "csv" else frame.to_parquet)(path, index=False)
        loaded = read(path)
        np.testing.assert_array_equal(loaded.X, NUMBERS)
        assert loaded.ids == [str(i) for i in order]
        assert "column 'number' looks like ids" in loaded.notes[0]
        assert read(path, id_column=False).X.shape == (31, 4)

    def test_row_numbers_beside_ids_are_left_out(self, tmp_path):
        frame = pd.DataFrame(NUMBERS, columns=["x", "y", "z"]).assign(number=range(31))
        frame.insert(0, "name", [f"n{i}" for i in range(31)])
        frame.to_csv(tmp_path / "t.csv", index=False)
        loaded = read(tmp_path / "t.csv")
        assert (loaded.names, loaded.ids[0]) == (["x", "y", "z"], "n0")
        assert "column 'number' looks like ids and is left out" in loaded.notes[0]

    @pytest.mark.parametrize("suffix", ["csv", "parquet"])
    @pytest.mark.parametrize("name", ["weight", "customer_id"])
    def test_numeric_columns_are_never_ids(self, tmp_path, suffix, name):
        frame = pd.DataFrame(NUMBERS, columns=["x", "y", "z"]).assign(w=range(31))
        frame, path = frame.rename(columns={"w": name}), tmp_path / f"t.{suffix}"
        (frame.to_csv if suffix == "csv" else frame.to_parquet)(path, index=False)
        assert read(path).names == ["x", "y", "z"]
        assert read(path, numeric=[name]).names == ["x", "y", "z", name]

    def test_ranks_are_features(self, tmp_path):
        ranks = NUMBERS.argsort(axis=0).argsort(axis=0)
        frame = pd.DataFrame(ranks, columns=["x", "y", "z"])
        frame.to_parquet(tmp_path / "t.parquet", index=False)
        assert read(tmp_path / "t.parquet").names == ["y", "z"]
        frame.insert(0, "name", [f"n{i}" for i in range(31)])
        frame.to_csv(tmp_path / "t.csv", index=False)
        assert read(tmp_path / "t.csv").names == ["x", "y", "z"]

    def test_similarities_are_not_row_numbers(self, tmp_path):
        S = 12 - np.abs(np.arange(12) - np.arange(12)[:, None])
        np.savetxt(tmp_path / "t.csv", S, "%d", ",")
        np.testing.assert_array_equal(read(tmp_path / "t.csv", precomputed=True).X, S)

    def test_different_numbers_with_gaps_are_a_feature(self, tmp_path):
        gaps = 3 * np.random.default_rng(2).permutation(31)
        loaded = table(tmp_path, "people,x,y,z\n" + lines(gaps))
        assert loaded.X.shape == (31, 4)
        assert loaded.notes == (
            "column 'people' with a different whole number in every row is a feature. "
            "Pass id_column if these are ids.",
        )
        two = table(
            tmp_path, "people,stars,x,y,z\n" + lines(gaps, np.c_[gaps, NUMBERS])
        )
        assert two.notes[0].startswith("columns 'people' and 'stars' with a different")
        assert "in every row are features. Pass" in two.notes[0]
        few = "people,x,y,z\n" + lines(range(9), NUMBERS[:9])
        assert table(tmp_path, few).X.shape == (9, 4)

    def test_row_numbers_before_names_leave_features_their_names(self, tmp_path):
        """x was called Name, and y was called x."""
        rows = [f"{i},Ann {i},{x},{y}" for i, (x, y, _) in enumerate(NUMBERS, 1)]
        loaded = table(tmp_path, "\n".join(["customer,Name,x,y", *rows]))
        assert (loaded.id_name, loaded.names) == ("customer", ["x", "y"])
        np.testing.assert_array_equal(loaded.X, NUMBERS[:, :2])

    def test_padded_numbers_are_ids(self, tmp_path):
        padded = [f"{7 * i:04d}" for i in range(31)]
        assert table(tmp_path, lines(padded)).ids == padded


class TestNumbersThatNameThings:
    @pytest.mark.parametrize("name", ["Order No", "Kundennr", "customer number"])
    def test_different_whole_numbers_of_such_a_name_are_ids(self, tmp_path, name):
        text = lines(range(1000, 1310, 10))
        loaded = table(tmp_path, f"{name},a,b,c\n{text}")
        assert (loaded.id_name, loaded.names) == (name, ["a", "b", "c"])

    def test_the_same_name_above_counts_is_a_feature(self, tmp_path):
        text = lines([3] * 30 + [4])
        assert table(tmp_path, f"room number,a,b,c\n{text}").X.shape == (31, 4)

    @pytest.mark.parametrize("name", ["ZIP", "home_zip_code", "PLZ", "Postal Code"])
    def test_postal_codes_are_left_out(self, tmp_path, name):
        text = f"{name},a,b,c\n" + lines([10000 + i // 2 * 37 for i in range(31)])
        loaded = table(tmp_path, text)
        assert loaded.names == ["a", "b", "c"]
        assert f"column {name!r} holds postal codes and is left out" in loaded.notes[0]
        assert table(tmp_path, text, columns=[name, "a"]).names == [name, "a"]
        assert list(table(tmp_path, text, categorical=[name]).categories) == [name]
