"""The report as text: what it says, what it keeps to itself, and that it is one file."""

import base64
import hashlib
import json
import re
import warnings
from html.parser import HTMLParser

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

import sfumato
from tests.unit.reporting import made

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.exceptions.ClusteringWarning")

LIMIT = 500_000
"""Bytes of a page with 100 clusters and 100 features."""


class Page(HTMLParser):
    """Elements of a page with their attributes, and the text of each."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.open = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)

    def attributes(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def written(model, X, tmp_path, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sfumato.exceptions.ClusteringWarning)
        path = sfumato.report(model, X, tmp_path / "report.html", *args, **options)
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def customers():
    return made.fitted()


def test_the_answer_comes_first_and_the_sections_in_their_order(customers, tmp_path):
    text = written(*customers, tmp_path, made.NAMES)
    page = Page(text)
    assert "902 rows fall into 3 clusters" in page.text
    count = customers[0].outliers_.sum()  # Two are planted; one row in 740 is far.
    assert 2 <= count <= 5
    assert f"{count} rows ({count / 9.02:.1f} %) belong to no cluster" in page.text
    sections = [each["id"] for each in page.attributes("section")]
    assert sections == [
        *("number", "map", "clusters", "between", "outliers", "memberships"),
        *("convergence", "repeat"),
    ]
    assert text.index('class="answer"') < text.index("<section")


def test_cards_name_the_clusters_by_what_sets_them_apart(customers, tmp_path):
    model, X = customers
    text = written(model, X, tmp_path, made.NAMES)
    page = Page(text)
    ages = model.cluster_centers_[:, 1]
    old = int(np.argmax(ages))
    found = re.findall(r'id="c(\d+)".*?class="name"><bdi>(.*?)</bdi>', text, re.DOTALL)
    assert "high age" in dict(found)[str(old)]
    sizes = [int(each["data-size"]) for each in page.attributes("article")]
    assert sizes == sfumato.describe(model, X).clusters["size"].tolist()


def test_a_column_of_text_is_in_the_name_of_a_cluster_once(tmp_path):
    import pandas as pd
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    place = np.repeat([0, 1, 2], 300)
    age = np.array([30, 60, 62])[place] + 2 * rng.normal(size=900)
    visits = np.array([20, 21, 40])[place] + 2 * rng.normal(size=900)
    plan = np.array(["bronze", "silver", "gold"])[place]
    frame = pd.DataFrame({"age": age, "plan": plan, "visits": visits})
    pipeline = make_pipeline(sfumato.TablePreparer(), sfumato.CappedREFCMFS(3, random_state=0))
    text = written(pipeline.fit(frame), frame, tmp_path)
    names = re.findall(r'class="name"><bdi>(.*?)</bdi>', text, re.DOTALL)
    assert len(names) == 3
    for name in names:
        assert len(re.findall(r"plan: (?!not)", name)) == name.count("plan") == 1
        assert "age" in name or "visits" in name


def test_the_page_asks_for_nothing(customers, tmp_path):
    text = written(*customers, tmp_path, made.NAMES)
    page = Page(text)
    for _, attributes in page.elements:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert str(attributes.get(name, "#")).startswith(("#", "data:image/png;base64,"))
        assert "style" not in attributes
        assert not [name for name in attributes if name.startswith("on")]
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_has_the_hashes_of_its_style_and_script(customers, tmp_path):
    text = written(*customers, tmp_path)
    policy = Page(text).attributes("meta")[1]["content"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_the_same_input_gives_the_same_bytes(customers, tmp_path):
    model, X = customers
    assert written(model, X, tmp_path) == written(model, X, tmp_path)
    again = sfumato.CappedREFCMFS("auto", random_state=0).fit(X)
    assert written(again, X, tmp_path) == written(model, X, tmp_path)


@pytest.mark.parametrize("kind", ["stream", "dask", "sparse", "frame"])
def test_every_kind_of_data_gives_the_same_numbers(kind, customers, tmp_path):
    import pandas as pd

    model, X = customers
    rows = {
        "stream": lambda: sfumato.stream(X, chunk_rows=97),
        "dask": lambda: da.from_array(X, chunks=(97, -1)),
        "sparse": lambda: sp.csr_array(X),
        "frame": lambda: pd.DataFrame(X),
    }[kind]()
    plain, other = (written(model, each, tmp_path, made.NAMES) for each in (X, rows))
    if kind != "sparse":  # Whose components are not centered, so that its map is another one.
        assert other == plain
    for pattern in (r"Checksum.*?<code>(\w+)", r'<div class="answer">(.*?)</div>', r"row \d+"):
        assert re.findall(pattern, other, re.DOTALL) == re.findall(pattern, plain, re.DOTALL)


def test_streams_in_other_chunks_pick_the_same_rows(customers, tmp_path):
    model, X = customers
    pages = [written(model, sfumato.stream(X, chunk_rows=n), tmp_path) for n in (50, 333)]
    listed = [re.findall(r"<td><bdi>(row \d+)", page) for page in pages]
    assert listed[0] == listed[1]
    assert len(listed[0]) > 20


def test_values_of_rows_are_shown_on_request_only(tmp_path):
    X = made.customers()
    X[7, 0] = 987_654_321.0
    model = sfumato.CappedREFCMFS(3, random_state=0).fit(X)
    ids = [f"mail{i}@example.org" for i in range(len(X))]
    hidden = written(model, X, tmp_path, made.NAMES, ids=ids)
    shown = written(model, X, tmp_path, made.NAMES, ids=ids, show_rows=True)
    for secret in ("987,654,321", "987654321", "mail"):
        assert secret not in hidden
        assert secret in shown or secret == "987654321"
    assert "row 7" in hidden
    assert "no values of single rows" in hidden


def test_a_cluster_of_few_rows_has_no_histogram_unless_rows_are_shown(tmp_path):
    X = np.random.default_rng(0).normal(size=(120, 2))
    X[60:] += 50
    model = sfumato.REFCMFS(2, random_state=0).fit(X)
    X = X[:63]
    hidden, shown = (written(model, X, tmp_path, show_rows=each) for each in (False, True))
    assert hidden.count('class="hist"') == 2
    assert shown.count('class="hist"') == 4


def test_the_map_has_a_line_for_every_point_in_the_order_of_the_paths(customers, tmp_path):
    model, X = customers
    text = written(model, X, tmp_path)
    points = json.loads(re.search(r'id="points">(.*?)</script>', text).group(1))
    drawn = re.search(r'<svg viewBox="0 0 800.*?</svg>', text, re.DOTALL).group(0)
    groups = re.findall(r'<g class="(?:dots|out)" data-k="(-?\d+)">(.*?)</g>', drawn)
    owners = []
    for k, paths in groups:
        kept = re.sub(r'<path class="echo".*?/>', "", paths)
        owners += [int(k)] * len(re.findall(r"M\d+ \d+h0", kept))
    assert len(points) == len(owners) == len(X)
    memberships, scores = model.predict_membership(X), model.score_outliers(X)
    for (row, score, *shares), owner in zip(points, owners, strict=True):
        assert score == float(f"{scores[row]:.2g}")
        if owner < 0:
            assert not shares
            continue
        assert shares[0] == owner == memberships[[row]].toarray().argmax()
        assert shares[1] == round(100 * memberships[[row]].max())


def test_outliers_come_with_the_features_that_made_them_so(customers, tmp_path):
    text = written(*customers, tmp_path, made.NAMES)
    rows = re.findall(r"<tr><td><bdi>row (90[01])</bdi>.*?</tr>", text)
    assert sorted(rows) == ["900", "901"]
    for row, name in ((900, "income"), (901, "visits")):
        line = re.search(rf"<tr><td><bdi>row {row}</bdi>.*?</tr>", text).group(0)
        assert re.search(r"<bdi>(\w+)</bdi> above the center", line).group(1) == name


@pytest.mark.parametrize("name", made.ODD)
def test_odd_clusterings_make_a_page(name, tmp_path):
    model, X = made.ODD[name]()
    names = made.HOSTILE if name == "hostile names" else None
    for show_rows in (False, True):
        page = Page(written(model, X, tmp_path, names, show_rows=show_rows, title=made.HOSTILE[0]))
        assert len(page.attributes("article")) == len(model.cluster_centers_)
        assert len(page.attributes("script")) == 2
        assert not [each for each in page.attributes("img") if "src" not in each]


def test_hostile_names_stay_text(tmp_path):
    model, X = made.with_hostile_names()
    text = written(
        model,
        X,
        tmp_path,
        made.HOSTILE,
        title="</title><script>alert(5)</script>",
        ids=[f"<b>{i}</b>" for i in range(len(X))],
        command="sfumato cluster '<script>'",
        show_rows=True,
    )
    page = Page(text)
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"b", "u", "img"}
    assert len(page.attributes("script")) == 2
    assert "onerror" not in "".join(a for _, each in page.elements for a in each)
    assert "{{ 7 * 7 }}" in page.text
    assert "49" not in re.findall(r"<bdi>(.*?)</bdi>", text)
    assert "n" * 100 not in text
    assert "\x00" not in text
    assert "\u202e" not in text


def test_a_page_of_100_clusters_and_100_features_is_small(tmp_path):
    centers = 9 * np.random.default_rng(0).normal(size=(100, 100))
    X = np.repeat(centers, 60, axis=0)
    X += np.random.default_rng(1).normal(size=X.shape)
    model = sfumato.REFCMFS(100, init=centers, n_init=1, random_state=0).fit(X)
    text = written(model, X, tmp_path, [f"a feature of some length {i}" for i in range(100)])
    assert len(text.encode()) <= LIMIT
    assert text.count('class="hist"') >= 300


def test_images_are_cards(tmp_path):
    X = load_digits().data[:300]
    model = sfumato.REFCMFS(5, random_state=0).fit(X)
    hidden = Page(written(model, X, tmp_path, image_shape=(8, 8)))
    assert len(hidden.attributes("img")) == 5, "centers alone"
    shown = Page(written(model, X, tmp_path, image_shape=(8, 8), show_rows=True))
    assert len(shown.attributes("img")) > 20
    assert all(each["alt"] for each in shown.attributes("img"))
    with pytest.raises(ValueError, match="image_shape"):
        written(model, X, tmp_path, image_shape=(7, 8))


def test_a_model_without_history_makes_a_page(customers, tmp_path):
    X = customers[1]
    model = sfumato.REFCMFS(3, random_state=0).partial_fit(X[::2]).partial_fit(X[1::2])
    assert "batch by batch" in written(model, X, tmp_path)


def test_a_saved_model_makes_the_same_page(customers, tmp_path):
    model, X = customers
    sfumato.save(model, tmp_path / "model.sfumato")
    loaded = sfumato.load(tmp_path / "model.sfumato")
    assert written(loaded, X, tmp_path) == written(model, X, tmp_path)


def test_wrong_input_is_refused(customers, tmp_path):
    model, X = customers
    with pytest.raises(ValueError, match="feature_names has 1 names"):
        written(model, X, tmp_path, ["one"])
    with pytest.raises(TypeError, match="has no memberships"):
        written(KMeans(2, n_init=1).fit(X), X, tmp_path)
    (tmp_path / "report.html").touch()
    with pytest.raises(FileExistsError):
        written(model, X, tmp_path, overwrite=False)


def test_a_prepared_table_is_shown_in_its_units(tmp_path):
    import pandas as pd
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    city = np.repeat(["Rome", "<b>Bari</b>"], 150)
    table = pd.DataFrame(
        {
            "income": rng.normal(np.repeat([2000.0, 5200.0], 150), 200),
            "city": city,
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 300), "D"),
            "id": [f"k{i:04d}" for i in range(300)],
        }
    )
    pipeline = make_pipeline(sfumato.TablePreparer(), sfumato.CappedREFCMFS(2, random_state=0)).fit(
        table
    )
    text = written(pipeline, table, tmp_path)
    page = Page(text)
    means = [
        float(v) for v in re.findall(r'income</bdi>.*?class="vs">([\d,.]+)', text.replace(",", ""))
    ]
    assert sorted(round(v, -3) for v in means) == [2000, 5000]
    assert "<b>" not in text
    assert "city: <b>Bari</b>" in page.text
    assert "identifier" in page.text
    assert re.search(r"since.*20\d\d-\d\d-\d\d", page.text)
    direct = written(pipeline[-1], pipeline[:-1].transform(table), tmp_path, preparer=pipeline[0])
    assert direct == text
