import csv
import re
import shlex
from pathlib import Path

from sklearn.datasets import load_iris

from customers import customers, write_customers

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "command-line.md"


def test_the_commands_of_the_guide_run_as_it_says(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    iris = load_iris()
    with open("iris.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["flower", "sl", "sw", "pl", "pw", "species"])
        for i, (x, y) in enumerate(zip(iris.data, iris.target, strict=True)):
            writer.writerow([f"f{i}", *x, iris.target_names[y]])
    Path("together.csv").write_text("f50,f60\nf100,f120\n")
    Path("apart.csv").write_text("f55,f125\n")
    write_customers("customers.csv", customers())
    page = PAGE.read_text()
    blocks = re.findall(r"```shell\n(.*?)```", page, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    results = [run(*shlex.split(line)[1:]) for line in lines]
    assert len(results) == 27
    for result in results:
        assert result.exit_code == 0, result.stderr
    shown = [
        next(i for i, line in enumerate(lines) if what in line)
        for what in ("fit", "customers.csv", "refit")
    ]
    for result in (results[i] for i in shown):
        said = re.sub(r"\d+\.\d+ s", "0.65 s", result.stderr)
        assert "".join(f"    {line}\n" for line in said.splitlines()) in page
