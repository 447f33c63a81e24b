"""From the raw file of an analyst to labels, in the same way for new samples."""

import csv
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from customers import HEADER, customers, write_customers
from lordclust.cli.preparation import Preparation, Scaling
from lordclust.cli.samples import Samples

FIT = ("-k", 5, "--categorical", "region,plan")

SAID = """\
the text is not UTF-8 and is read as cp1252. Choose otherwise with --encoding.
columns 'Kunde', 'notes' hold text and are left out. Use categories with \
--categorical, or name the ids with --id-column.
read as numbers: 'active' (FALSE = 0), 'income' ($20,189 = 20189), 'since' (2024-01-31 \
= 19753 days), 'discount' (0.0% = 0).
scaled by --scale zscore: the standard deviations of 'income' and 'discount' differ by \
a factor of 4,367. Choose otherwise with --scale.
4 of 200 samples have missing values and are left out: C-1021, C-1371, C-1721, C-2071.
blord: 196 samples x 13 features (z-scores), """


@pytest.fixture
def file(tmp_path):
    return write_customers(tmp_path / "customers.csv", customers())


def table(text):
    return list(csv.DictReader(text.splitlines()))


def samples(X, *, categories=None, names=None, kinds=None):
    """Samples of a table that has been read."""
    X, n = np.asarray(X, dtype=float), len(X)
    return Samples(
        source="t.csv", X=X, ids=np.arange(n), id_name="id", names=names, labels=None,
        weight=None, known=None, precomputed=False, raw=X, kinds=kinds,
        categories=categories or {}, all_ids=np.arange(n),
    )  # fmt: skip


def test_one_command_chooses_the_number_and_names_what_it_filled(run, file):
    result = run("fit", file, "--missing", "median", "--profiles", "-")
    assert result.exit_code == 0, result.stderr
    assert "Use categories such as 'Kunde', 'region', 'plan' with" in result.stderr
    assert "the most frequent category: 'income' (4).\n" in result.stderr
    assert "%  (all: " in result.stdout


def test_a_messy_file_from_the_first_command_to_the_last(run, file, tmp_path, rows):
    result = run("fit", file, *FIT)
    assert result.exit_code == 3
    assert "--missing median" in result.stderr
    assert (
        "4 of 1000 cells, the first is '' in line 5, column 'income'" in result.stderr
    )
    out, model, page = (tmp_path / n for n in ("out.csv", "m.lord", "page.html"))
    facts = tmp_path / "facts.json"
    result = run("fit", file, *FIT, "--missing", "drop", "-o", out, "--join",
                 "--model", model, "--report", page, "--json", facts)  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stderr.replace(f"{file}: ", "").startswith(SAID)
    lines = rows(out)
    assert len(lines) == 200
    assert [line["income"] for line in lines] == [row[5] for row in customers()]
    assert lines[0]["Kunde"] in {row[0] for row in customers()}
    assert [i for i, line in enumerate(lines) if not line["label"]] == [3, 53, 103, 153]
    kept = [i for i in range(200) if lines[i]["label"]]
    labels = [int(lines[i]["label"]) for i in kept]
    assert adjusted_rand_score(np.array(kept) % 5, labels) == 1
    used = json.loads(facts.read_text())["input"]
    assert used["scale"] == "zscore"
    assert used["columns"] == ["active", "income", "since", "discount", "visits",
                               "region", "plan"]  # fmt: skip
    text = page.read_text()
    assert "active, income, since, discount, visits, region, plan" in text
    assert "region=North" in text
    assert "C-1000" in text
    new = write_customers(
        tmp_path / "new.csv", customers(40, seed=1), delimiter=";", encoding="utf-8"
    )
    result = run("predict", model, new, "--join")
    assert result.exit_code == 0, result.stderr
    found = table(result.stdout)
    assert [i for i, line in enumerate(found) if not line["label"]] == [3]
    by_group = {i % 5: label for i, label in zip(kept, labels, strict=True)}
    for i, line in enumerate(found):
        assert not line["label"] or int(line["label"]) == by_group[i % 5]
        assert line["Kunde"] == customers(40, seed=1)[i][0]
    result = run("report", model, file, "-o", tmp_path / "again.html")
    assert result.exit_code == 0, result.stderr


def test_profiles_are_shares_of_categories_and_own_units(run, file):
    result = run("fit", file, *FIT, "--missing", "median", "--profiles", "-")
    assert result.exit_code == 0, result.stderr
    assert "region=North         95%  (all: 20%, much higher)" in result.stdout
    assert "income            20,032  (all: 63,466, much lower)" in result.stdout
    assert "since         2024-01-31  (all: 2022-06-10, much later)" in result.stdout


def test_fitted_samples_are_predicted_as_fitted(run, file, tmp_path):
    for missing in ("drop", "median"):
        model = tmp_path / f"{missing}.lord"
        options = (*FIT, "--missing", missing, "--model", model)
        fitted = run("fit", file, *options)
        assert fitted.exit_code == 0, fitted.stderr
        again = run("predict", model, file)
        assert table(again.stdout) == table(fitted.stdout)


def test_unknown_categories_are_said_and_count_as_none(run, file, tmp_path):
    model, new = tmp_path / "m.lord", tmp_path / "new.csv"
    run("fit", file, *FIT, "--missing", "median", "--model", model)
    row = customers()[0]
    row[3] = "gold"
    write_customers(new, [row])
    result = run("predict", model, new)
    assert result.exit_code == 0, result.stderr
    assert (
        "column 'plan' has categories that the model does not know in 1 samples, the "
        "first is 'gold'. They count as none of the known ones." in result.stderr
    )


def test_another_kind_of_cells_is_refused(run, file, tmp_path):
    model, new = tmp_path / "m.lord", tmp_path / "new.csv"
    run("fit", file, *FIT, "--missing", "median", "--model", model)
    given = customers()[:2]
    for row, days in zip(given, ("45000", "45001"), strict=True):
        row[6] = days
    write_customers(new, given)
    result = run("predict", model, new)
    assert result.exit_code == 3
    assert "column 'since' is a number in each sample, but the model" in result.stderr


def test_columns_can_be_dropped(run, file):
    common = ("fit", file, "-k", 5, "--missing", "median", "--json")
    result = run(*common, "--drop", "Kunde,notes,region,plan,income")
    used = json.loads(result.stdout)["input"]
    assert used["columns"] == ["active", "since", "discount", "visits"]
    assert "hold text" not in result.stderr
    result = run(*common, "--drop", "wage")
    assert (result.exit_code, "drop is 'wage'" in result.stderr) == (3, True)


def test_scale_auto_leaves_similar_columns_alone(run, points, tmp_path):
    result = run("fit", points, "-k", 3, "--label-column", "class")
    assert "45 samples x 2 features (not scaled)" in result.stderr
    lines = points.read_text().splitlines()
    wide = [line.split(",") for line in lines[1:]]
    large = [f"{n},{1000 * float(x)},{y},{c}" for n, x, y, c in wide]
    points.write_text("\n".join([lines[0], *large]) + "\n")
    result = run("fit", points, "-k", 3, "--label-column", "class")
    assert "(z-scores)" in result.stderr
    assert (
        "scaled by --scale zscore: the standard deviations of 'x' and 'y' differ"
        in (result.stderr)
    )
    assert "ACC 1.0000" in result.stderr


def test_a_category_weighs_as_much_as_one_number():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) * [1, 50, 900]
    plan = rng.choice(["a", "b", "c"], size=60).tolist()
    made, how = Preparation.fit(
        samples(X, categories={"plan": plan}), "error", "zscore"
    )
    assert how.weight == pytest.approx(np.sqrt(0.5))
    i, j = plan.index("a"), plan.index("b")
    assert ((made.X[i, 3:] - made.X[j, 3:]) ** 2).sum() == pytest.approx(1)
    _, raw = Preparation.fit(samples(X, categories={"plan": plan}), "error", "none")
    assert raw.weight == pytest.approx(np.sqrt(X.var(axis=0).mean() / 2))
    np.testing.assert_allclose(how.undo(made.X), made.raw, atol=1e-9)


def test_fills_are_those_of_the_fit():
    X = [[1.0, 5.0], [np.nan, 7.0], [3.0, 9.0], [5.0, np.nan]]
    plan = ["a", "b", "", "b"]
    given = samples(X, categories={"plan": plan}, names=["x", "y"])
    made, how = Preparation.fit(given, "median", "none")
    assert made.raw.tolist() == [[1, 5, 0, 1], [3, 7, 1, 0], [3, 9, 1, 0], [5, 7, 1, 0]]
    assert made.names == ["x", "y", "plan=b", "plan=a"]
    new = samples([[np.nan, np.nan]], categories={"plan": ["c"]}, names=["x", "y"])
    assert how.apply(new).raw.tolist() == [[3, 7, 0, 0]]
    with pytest.raises(
        ValueError, match="missing in 1 of 4 cells of the column 'plan'"
    ):
        Preparation.fit(samples(np.eye(4), categories={"plan": plan}), "error", "none")


@pytest.mark.parametrize("missing", ["drop", "median"])
def test_arrays_with_missing_values(run, tmp_path, missing):
    X = np.random.default_rng(0).normal(size=(30, 2)) + np.repeat(
        [[0], [9]], 15, axis=0
    )
    X[3, 1] = np.nan
    np.save(tmp_path / "X.npy", X)
    result = run("fit", tmp_path / "X.npy", "-k", 2)
    assert "--missing median and --missing drop do so" in result.stderr
    result = run("fit", tmp_path / "X.npy", "-k", 2, "--missing", missing, "--join")
    assert result.exit_code == 0, result.stderr
    assert len(table(result.stdout)) == 30 - (missing == "drop")
    sp = tmp_path / "S.npz"
    sparse.save_npz(sp, sparse.csr_array(np.nan_to_num(X)))
    result = run("fit", sp, "-k", 2, "--missing", missing)
    assert result.exit_code == 0, result.stderr


def test_columns_without_a_value_are_left_out(caplog):
    caplog.set_level("INFO", "lordclust")
    X = [[1.0, np.nan], [2.0, np.nan]]
    for missing in ("drop", "median"):
        made, _ = Preparation.fit(samples(X, names=["x", "y"]), missing, "auto")
        assert made.X.tolist() == [[1], [2]]
        assert "no cell has a value in 'y', which is left out" in caplog.text
    with pytest.raises(ValueError, match="missing in every sample"):
        Preparation.fit(samples([[1, np.nan], [np.nan, 1]]), "drop", "none")


@given(
    st.sampled_from(["none", "minmax", "zscore"]),
    st.sampled_from(["error", "median", "drop"]),
    st.integers(0, 2**32 - 1),
)
def test_a_preparation_survives_a_file_in_every_bit(scale, missing, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(7, 3)) * 10.0 ** np.arange(3)
    X[:, 1] = 4.0
    given = samples(X, categories={"c": rng.choice(["a", "b"], size=7).tolist()})
    made, how = Preparation.fit(given, missing, scale)
    again = Preparation.from_json(json.loads(json.dumps(how.to_json())))
    np.testing.assert_array_equal(again.apply(given).X, made.X)
    np.testing.assert_allclose(how.undo(made.X), made.raw, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    [{"d": 2}, {"width": [0.0]}, {"width": [1, 2]}, {"shift": ["a"]}, {"levels": []},
     {"levels": {"c": []}}, {"weight": 0}, {"names": ["a", "b"]}, {"fills": [None]}],
)  # fmt: skip
def test_a_damaged_preparation_is_refused(change):
    _, how = Preparation.fit(samples([[1.0], [2.0]]), "median", "zscore")
    document = how.to_json()
    assert Preparation.from_json(document) is not None
    for broken in ({**document, **change}, {}, []):
        with pytest.raises(ValueError, match="cannot be read"):
            Preparation.from_json(broken)


def test_scaling():
    X = np.random.default_rng(0).normal(size=(9, 2))
    X[:, 1] = 4.0
    Z = Scaling.of("minmax", X).apply(X)
    assert (Z[:, 0].min(), Z[:, 0].max(), np.ptp(Z[:, 1])) == (0, 1, 0)
    Z = Scaling.of("zscore", X).apply(X)
    np.testing.assert_allclose((Z[:, 0].mean(), Z[:, 0].std()), (0, 1), atol=1e-9)


def test_the_generator_has_all_columns():
    assert all(len(row) == len(HEADER) for row in customers(20))
