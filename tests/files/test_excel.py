"""Excel files: read as csv is, written without formulas, and never a bomb."""

import re
import sys
from datetime import datetime
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import openpyxl
import pytest

from lordclust.files import InputError, read, write_table


def book(path, rows):
    made = openpyxl.Workbook()
    for row in rows:
        made.active.append(row)
    made.save(path)
    return path


def refused(path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return caught.value.message


def changed(path, name, change):
    """Rewrite a member of an archive."""
    with ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    members[name] = change(members[name])
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path


SHEET = "xl/worksheets/sheet1.xml"


def test_cells_are_read_as_in_a_csv(tmp_path):
    rows = [
        ["who", "x", "active", "since", "income", "city", "ratio"],
        ["Ann", 1, True, datetime(2024, 3, 1), "$1,200", "Ulm", 0.1],
        ["Bob", 2.5, False, datetime(2024, 3, 2, 12), "$900", "Bern", 1e-7],
        ["Zoë", 3, True, datetime(2024, 3, 3), "$5", "Ulm", 0.3],
    ]
    loaded = read(book(tmp_path / "t.xlsx", rows))
    assert loaded.ids == ["Ann", "Bob", "Zoë"]
    assert loaded.names == ["x", "active", "since", "income", "ratio"]
    assert loaded.X.tolist() == [
        [1, 1, 19783, 1200, 0.1],
        [2.5, 0, 19784.5, 900, 1e-7],
        [3, 1, 19785, 5, 0.3],
    ]
    assert "column 'city' holds text and is left out" in loaded.notes[0]


def test_empty_rows_and_cells(tmp_path):
    rows = [[], ["x", "y", None], [1, 2], [None, None], [3, "#N/A"], [], []]
    path = book(tmp_path / "t.xlsx", rows)
    assert "missing or infinite in 3 of 6 cells, the first is '' in line 4" in (
        refused(path)
    )
    X = read(path, missing="keep").X
    np.testing.assert_array_equal(X, [[1, 2], [np.nan, np.nan], [3, np.nan]])
    path = book(tmp_path / "w.xlsx", [["x", "y"], [1, 2, 3]])
    assert refused(path).startswith("row 2 has 3 cells, the first has 2.")
    assert "the file is empty" in refused(book(tmp_path / "e.xlsx", []))


def test_what_is_written_is_read_and_no_formula(tmp_path):
    path = tmp_path / "t.xlsx"
    x = np.random.default_rng(0).normal(size=4)
    write_table(path, {"id": ["=1+2", "b", "-1", "@c"], "x": x, "n": [3, 1, 4, 1]})
    loaded = read(path, id_column="id")
    assert loaded.ids == ["=1+2", "b", "-1", "@c"]
    np.testing.assert_allclose(loaded.X, np.column_stack([x, [3, 1, 4, 1]]), 1e-15)
    sheet = openpyxl.load_workbook(path).active
    assert [cell.data_type for cell in sheet["A"]] == ["s"] * 5
    with pytest.raises(InputError, match="control characters"):
        write_table(tmp_path / "c.xlsx", {"x": ["a\x1b"]})
    with pytest.raises(InputError, match="a sheet has at most"):
        write_table(tmp_path / "l.xlsx", {"x": np.zeros(1_048_576)})


def test_bombs_are_refused(tmp_path):
    path = book(tmp_path / "t.xlsx", [["x", "y"], [1, 2], [3, 4]])
    rows = (b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (i, i) for i in range(900))
    wide = b"<sheetData>" + b"".join(rows) + b"</sheetData>"
    data = re.compile(b"<sheetData>.*</sheetData>")
    changed(path, SHEET, lambda xml: data.sub(wide, xml))
    assert "unpacks to more than" in refused(path)
    path = book(tmp_path / "t.xlsx", [["x", "y"], [1, 2], [3, 4]])
    far = b'<row r="1048576"><c r="A1048576"><v>1</v></c></row></sheetData>'
    changed(path, SHEET, lambda xml: xml.replace(b"</sheetData>", far))
    assert "unpacks to more than" in refused(path)
    path = book(tmp_path / "t.xlsx", [["x", "y"], [1, 2], [3, 4]])
    changed(path, SHEET, lambda xml: xml + b" " * (20 << 20))
    assert "unpacks to more than" in refused(path)
    path = book(tmp_path / "t.xlsx", [["x", "y"], [1, 2], [3, 4]])
    laugh = b'<!DOCTYPE a [<!ENTITY b "cc">]>'
    changed(path, SHEET, lambda xml: laugh + xml)
    assert "it declares entities" in refused(path)


def test_damaged_files(tmp_path):
    path = book(tmp_path / "t.xlsx", [["x", "y"], [1, 2], [3, 4]])
    content = path.read_bytes()
    for cut in (0, 10, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        assert "cannot be read as xlsx" in refused(path)
    path.write_bytes(content)
    changed(path, SHEET, lambda xml: xml[:200])
    assert "cannot be read as xlsx" in refused(path)


def test_without_openpyxl(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    for call in (read, lambda path: write_table(path, {"x": [1]})):
        with pytest.raises(ImportError, match=r'pip install "lordclust\[excel\]"'):
            call(tmp_path / "t.xlsx")
