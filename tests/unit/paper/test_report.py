"""The report: a well-formed page with every number of the tables, and files that appear whole."""

import base64
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from matplotlib.figure import Figure

from sfumato.exceptions import UserError
from sfumato.paper import report
from sfumato.paper.experiment import Experiment
from sfumato.paper.methods import METHODS
from sfumato.paper.report import HOW_CHOSEN, draw, how, inline, page, words, write_all
from sfumato.paper.results import BY_LABELS, WITHOUT_LABELS, Results, lines, tally
from sfumato.paper.tables import MEANINGS, SIGNS, tables
from tests.unit.paper import made

TEXTS = {"index.html", "tables.md", "tables.csv"}
VOID = {"meta", "img", "wbr", "br", "link", "hr", "input"}
NAMES = ("ranking", "acc", "nmi", "memberships", "convergence")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'


class Reader(HTMLParser):
    """Elements of a page; complains where tags do not match."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.tables, self.text = [], [], [], ""
        self.feed(text)
        self.close()
        assert self.open == [], "tags that are not closed"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes another element"

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if "td" in self.open or "th" in self.open:
            self.tables[-1][-1][-1] += data


def written(results, experiment, names=NAMES):
    found = lines(results, experiment)
    shown = tables(results, experiment, found)
    return shown, page(experiment, shown, tally(found), dict.fromkeys(names, SVG))


@pytest.fixture(scope="module")
def both():
    return written(Results(made.runs()), made.experiment())


@pytest.fixture(scope="module")
def shown(both):
    return both[0]


@pytest.fixture(scope="module")
def text(both):
    return both[1]


@pytest.fixture(scope="module")
def reader(text):
    return Reader(text)


def test_every_entry_of_every_table_is_in_its_place(reader, shown):
    assert len(reader.tables) == len(shown) == 4
    for (head, *body), table in zip(reader.tables, shown, strict=True):
        assert head == [table.corner, *table.columns]
        assert body == [
            [
                name,
                *(
                    (e.reason or e.ours) + (f" {SIGNS[e.verdict]}" if e.verdict else "") + e.printed
                    for e in entries
                ),
            ]
            for name, entries in table.rows
        ]


def test_colors_never_stand_without_their_sign(text, shown):
    for verdict in MEANINGS:
        marked = re.findall(rf'<td class="{verdict}">.*?</td>', text)
        count = sum(e.verdict == verdict for t in shown for _, row in t.rows for e in row)
        assert len(marked) == count > 0
        assert all(SIGNS[verdict] in cell and f'aria-label="{verdict}"' in cell for cell in marked)
        assert f'<li class="{verdict}">' in text, "the legend has it"


def test_reasons_are_text_and_not_markup(text):
    assert "no &lt;b&gt;luck&lt;/b&gt;" in text
    assert "<b>luck" not in text


def test_it_refers_to_nothing_outside(text, reader):
    targets = {attrs.get("id") for _, attrs in reader.elements}
    for tag, attrs in reader.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster", "xlink:href"):
            address = attrs.get(name)
            if address is None:
                continue
            inside = address.startswith("#") and address[1:] in targets
            assert inside or address.startswith("data:image/"), (tag, address)
    assert "script" not in {tag for tag, _ in reader.elements}
    assert "link" not in {tag for tag, _ in reader.elements}
    style = re.search(r"<style>(.*)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style
    assert "//" not in style


def test_it_serves_phones_dark_rooms_and_paper(text, reader):
    metas = [attrs for tag, attrs in reader.elements if tag == "meta"]
    assert any("width=device-width" in attrs.get("content", "") for attrs in metas)
    for query in ("prefers-color-scheme: dark", "@media print", "max-width"):
        assert query in text
    regions = [attrs for _, attrs in reader.elements if attrs.get("class") == "scroll"]
    assert len(regions) == len(reader.tables)


def test_dark_colors_are_given_for_all_that_light_ones_are(text):
    light, dark = re.findall(r":root \{(.*?)\}", text, re.DOTALL)[:2]
    assert re.findall(r"--\w+", light) == re.findall(r"--\w+", dark)


def test_every_figure_has_a_caption_that_says_what_is_printed(text):
    found = re.findall(r'<figure id="figure-(\w+)">(.*?)</figure>', text, re.DOTALL)
    assert [name for name, _ in found] == list(NAMES)
    for _, content in found:
        assert re.search(r'<img src="data:[^"]+" alt="[^"]+">', content)
        caption = re.search(r"<figcaption>(.*)</figcaption>", content, re.DOTALL)[1]
        assert "Printed (Figure" in caption
        assert "Here:" in caption
    ranking = dict(found)["ranking"]
    assert "0.39, 0.33, 0.18" in ranking
    assert "sum to 0.90" in " ".join(ranking.split())


def test_figures_that_are_not_given_are_not_shown():
    _, text = written(Results([]), made.experiment(), names=["ranking"])
    assert re.findall(r'<figure id="figure-(\w+)">', text) == ["ranking"]
    _, text = written(Results([]), made.experiment(), names=[])
    assert "<figure " not in text
    Reader(text)


def test_it_says_how_each_row_was_set(reader):
    for row in (*made.METHODS, BY_LABELS, WITHOUT_LABELS):
        assert how(row) in reader.text
    assert how("FCM") == METHODS["FCM"].how
    assert how("FCM") not in reader.text, "not part of this experiment"
    assert how(BY_LABELS) == HOW_CHOSEN[BY_LABELS]


def test_the_headline_counts_verdicts():
    _, text = written(Results(made.runs()), made.experiment())
    plain = " ".join(Reader(text).text.split())
    # K-Means, K-Medoids and REFCMFS on Yale, each ACC and NMI; see test_tables.
    assert "Of 6 means" in plain
    assert "1 above (↑), 2 within (≈), and 3 below (↓)" in plain


def test_nothing_is_counted_where_nothing_can_be_compared():
    _, text = written(Results([]), Experiment(["digits"], ["K-Means"], runs=1))
    plain = " ".join(Reader(text).text.split())
    assert "one printed standard deviation." not in plain.split("Clustering accuracy")[0]
    assert "1 run per method" in plain


def test_versions_are_those_in_use(reader):
    import numpy
    import sklearn

    assert f"numpy {numpy.__version__}" in reader.text
    assert f"scikit-learn {sklearn.__version__}" in reader.text


def test_pictures_are_in_the_page_itself(reader):
    sources = [attrs["src"] for tag, attrs in reader.elements if tag == "img"]
    assert sources == [inline(SVG)] * len(NAMES)
    assert base64.b64decode(sources[0].partition(",")[2]) == SVG


def test_long_names_may_break_between_words():
    assert words("REFCMFS (10 starts)") == ["REFCMFS (10 starts)"]
    assert words("LandmarkSpectralEmbedding") == ["Landmark", "Spectral", "Embedding"]
    assert "".join(words("sim-REFCMFS")) == "sim-REFCMFS"


# Files.


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def output(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits") / "new" / "results"
    write_all(Results(made.runs("digits")), made.experiment("digits"), folder)
    return folder


@pytest.fixture
def one_figure(monkeypatch):
    """Draw next to nothing, where figures are not what is tested."""
    monkeypatch.setattr(report, "draw", lambda *given: {"ranking": Figure()})


@pytest.mark.slow
def test_all_files_are_there_and_nothing_else(output):
    pictures = {f"figures/{name}.{ending}" for name in NAMES for ending in ("png", "svg")}
    assert set(contents(output)) == TEXTS | pictures | {"illustrations/digits.npz"}


def test_pictures_are_what_their_names_say_and_refer_to_nothing_outside(output):
    for name in NAMES:
        png = (output / "figures" / f"{name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        root = ElementTree.fromstring((output / "figures" / f"{name}.svg").read_text())
        assert root.tag.endswith("svg")
        addresses = [v for e in root.iter() for k, v in e.attrib.items() if k.endswith("href")]
        assert all(a.startswith(("#", "data:image/png;")) for a in addresses)


def test_the_page_holds_the_pictures(output):
    assert (output / "index.html").read_text().count('src="data:image/svg+xml;base64,') == len(
        NAMES
    )


@pytest.mark.usefixtures("one_figure")
def test_the_same_results_give_the_same_files(tmp_path):
    for folder in ("one", "two"):
        write_all(Results(made.runs()), made.experiment("yale"), tmp_path / folder)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@pytest.mark.usefixtures("one_figure")
def test_new_results_replace_the_old_ones(tmp_path):
    write_all(Results([]), made.experiment("yale"), tmp_path)
    before = contents(tmp_path)
    write_all(Results(made.runs()), made.experiment("yale"), tmp_path)
    after = contents(tmp_path)
    assert set(after) == set(before)
    assert all(after[name] != before[name] for name in TEXTS)


def test_missing_results_are_dashes(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "ranking", Figure)
    write_all(Results([]), Experiment(["yale", "digits"], ["K-Means", "FCM"]), tmp_path)
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == {"ranking"}
    rows = (tmp_path / "tables.md").read_text().splitlines()
    dash = "\N{EN DASH}"
    assert f"| K-Means | {dash} (42.91 ± 6.18) | {dash} ({dash}) |" in rows
    assert f'<span class="ours">{dash}</span>' in (tmp_path / "index.html").read_text()


def test_figures_of_a_grid_need_one_cell(monkeypatch, tmp_path):
    monkeypatch.setattr(report, "ranking", Figure)
    monkeypatch.setattr(report, "illustrate", lambda data, folder: data)
    for name in ("memberships", "convergence"):
        monkeypatch.setattr(report, name, lambda fitted: list(fitted))
    none = draw(Results([]), made.experiment("yale"), [], tmp_path)
    assert set(none) == {"ranking", "memberships", "convergence"}
    assert none["memberships"] == ["yale"]
    some = draw(Results(made.runs()), made.experiment("yale", "digits"), [], tmp_path)
    assert set(some) == set(NAMES)
    assert len(some["acc"].axes) == 1, "the set without a grid has no panel"


@pytest.mark.usefixtures("one_figure")
@pytest.mark.parametrize("fails", ["page", "markdown", "to_csv", "tables"])
def test_a_failure_leaves_what_was_there(fails, tmp_path, monkeypatch):
    results, experiment = Results(made.runs()), made.experiment("yale")
    write_all(results, experiment, tmp_path)
    before = contents(tmp_path)

    def broken(*given):
        raise RuntimeError("broken")

    monkeypatch.setattr(report, fails, broken)
    with pytest.raises(RuntimeError, match="broken"):
        write_all(Results([]), experiment, tmp_path)
    assert contents(tmp_path) == before


@pytest.mark.usefixtures("one_figure")
def test_no_text_is_replaced_unless_all_can_be_written(tmp_path, monkeypatch):
    experiment = made.experiment("yale")
    write_all(Results(made.runs()), experiment, tmp_path)
    before = contents(tmp_path)

    def full(text, path):
        path.write_text(text[:10], encoding="utf-8")
        if path.name == "index.html":
            raise OSError("no space left")

    monkeypatch.setattr(report, "_write", full)
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
