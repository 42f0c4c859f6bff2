"""Writing: every file whole or as it was before, and whatever is missing a dash."""

import xml.etree.ElementTree as ElementTree
from importlib.resources import files

import pytest
from matplotlib.figure import Figure

from sfumato.exceptions import UserError
from sfumato.paper import writing
from sfumato.paper.experiment import Experiment
from sfumato.paper.results import Results
from sfumato.paper.writing import draw, write_all
from tests.unit.paper import made

TEXTS = {"index.html", "tables.md", "tables.csv"}
ALL = {"ranking", "acc", "nmi", "memberships", "convergence"}


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits") / "new" / "results"
    write_all(Results(made.outcomes("digits")), made.experiment("digits"), folder)
    return folder


@pytest.fixture
def one_figure(monkeypatch):
    """Draw next to nothing, where figures are not what is tested."""
    monkeypatch.setattr(writing, "draw", lambda *given: {"ranking": Figure()})


def test_all_files_are_there_and_nothing_else(output):
    pictures = {f"figures/{name}.{ending}" for name in ALL for ending in ("png", "svg")}
    assert set(contents(output)) == TEXTS | pictures | {"illustrations/digits.npz"}


def test_pictures_are_what_their_names_say_and_refer_to_nothing_outside(output):
    for name in ALL:
        png = (output / "figures" / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        root = ElementTree.fromstring((output / "figures" / f"{name}.svg").read_text())
        assert root.tag.endswith("svg")
        addresses = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
        assert all(a.startswith(("#", "data:image/png;")) for a in addresses)


def test_the_page_holds_the_pictures(output):
    assert (output / "index.html").read_text().count('src="data:image/svg+xml;base64,') == len(ALL)


@pytest.mark.usefixtures("one_figure")
def test_the_same_results_give_the_same_files(tmp_path):
    for folder in ("one", "two"):
        write_all(Results(made.outcomes()), made.experiment("yale"), tmp_path / folder)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.usefixtures("one_figure")
def test_new_results_replace_the_old_ones(tmp_path):
    write_all(Results([]), made.experiment("yale"), tmp_path)
    before = contents(tmp_path)
    write_all(Results(made.outcomes()), made.experiment("yale"), tmp_path)
    after = contents(tmp_path)
    assert set(after) == set(before)
    assert all(after[name] != before[name] for name in TEXTS)


def test_missing_results_are_dashes(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "ranking", Figure)
    write_all(Results([]), Experiment(["yale", "digits"], ["K-Means", "FCM"]), tmp_path)
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"ranking"}
    rows = (tmp_path / "tables.md").read_text().splitlines()
    dash = "\N{EN DASH}"
    assert f"| K-Means | {dash} (42.91 ± 6.18) | {dash} ({dash}) |" in rows
    assert f'<span class="ours">{dash}</span>' in (tmp_path / "index.html").read_text()


def test_figures_of_a_grid_need_one_cell(monkeypatch, tmp_path):
    monkeypatch.setattr(writing, "ranking", Figure)
    monkeypatch.setattr(writing, "illustrate", lambda data, folder: data)
    for name in ("memberships", "convergence"):
        monkeypatch.setattr(writing, name, lambda fitted: list(fitted))
    none = draw(Results([]), made.experiment("yale"), [], tmp_path)
    assert set(none) == {"ranking", "memberships", "convergence"}
    assert none["memberships"] == ["yale"]
    some = draw(Results(made.outcomes()), made.experiment("yale", "digits"), [], tmp_path)
    assert set(some) == ALL
    assert len(some["acc"].axes) == 1, "the set without a grid has no panel"


@pytest.mark.usefixtures("one_figure")
@pytest.mark.parametrize("fails", ["page", "markdown", "to_csv", "tables"])
def test_a_failure_leaves_what_was_there(fails, tmp_path, monkeypatch):
    results, experiment = Results(made.outcomes()), made.experiment("yale")
    write_all(results, experiment, tmp_path)
    before = contents(tmp_path)

    def broken(*given):
        raise RuntimeError("broken")

    monkeypatch.setattr(writing, fails, broken)
    with pytest.raises(RuntimeError, match="broken"):
        write_all(Results([]), experiment, tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("one_figure")
def test_no_text_is_replaced_unless_all_can_be_written(tmp_path, monkeypatch):
    experiment = made.experiment("yale")
    write_all(Results(made.outcomes()), experiment, tmp_path)
    before = contents(tmp_path)

    def full(text, path):
        path.write_text(text[:10], encoding="utf-8")
        if path.name == "index.html":
            raise OSError("no space left")

    monkeypatch.setattr(writing, "_write", full)
    with pytest.raises(UserError, match="no space left"):
        write_all(Results([]), experiment, tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("one_figure")
def test_a_file_in_the_way_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file, not a folder"):
        write_all(Results([]), made.experiment("yale"), tmp_path / "file")


def test_the_package_holds_what_is_not_python():
    found = {path.name for path in files("sfumato.paper").iterdir()}
    assert {"page.html", "expected.toml"} <= found
