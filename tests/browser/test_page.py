"""The report in a real browser: quiet, closed, usable with a pointer and with the keyboard."""

import importlib.resources
import json

import pytest

import sfumato
from tests.unit.reporting import made

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::sfumato.exceptions.ClusteringWarning"),
]

SCHEMES = ("light", "dark")
WIDTHS = (1200, 380)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    model, X = made.fitted()
    path = tmp_path_factory.mktemp("report") / "report.html"
    return sfumato.report(model, X, path, made.NAMES, title="Customers")


def cards(page):
    """Numbers of the cards that are seen, in their order."""
    shown = page.locator("article.card:visible")
    return [int(each.get_attribute("data-k")) for each in shown.all()]


def test_cards_are_sorted(opened, report):
    page = opened(report).page
    sizes = "(cards) => cards.map((card) => +card.dataset.size)"
    found = page.locator("article").evaluate_all(sizes)
    assert found == sorted(found, reverse=True), "the largest first, from the start"
    page.get_by_label("Sort by").select_option("number")
    assert cards(page) == [0, 1, 2]
    page.get_by_label("Sort by").select_option("name")
    names = page.locator(".card .name").all_inner_texts()
    assert names == sorted(names)


def test_cards_are_filtered(opened, report):
    page = opened(report).page
    page.get_by_role("searchbox").fill("high AGE")
    assert len(cards(page)) == 1
    assert page.locator("#shown").inner_text() == "1 of 3 clusters"
    page.get_by_role("searchbox").fill("no such thing")
    assert cards(page) == []
    page.get_by_role("searchbox").fill("")
    assert len(cards(page)) == 3


def test_pointing_at_a_row_shows_its_memberships(opened, report):
    page = opened(report).page
    chart = page.locator("#chart svg")
    chart.scroll_into_view_if_needed()
    x, y = page.evaluate(
        "() => {const d = document.querySelector('g.dots path').getAttribute('d');"
        "const [, x, y] = d.match(/M(\\d+) (\\d+)/);"
        "const p = new DOMPoint(+x, +y).matrixTransform("
        "document.querySelector('#chart svg').getScreenCTM()); return [p.x, p.y];}"
    )
    assert page.locator("#tip").is_hidden()
    page.mouse.move(x, y)
    text = page.locator("#tip").inner_text()
    assert "row " in text
    assert "cluster 0: " in text
    assert "outlier score" in text
    page.mouse.move(1, 1)
    assert page.locator("#tip").is_hidden()


def test_the_map_is_walked_with_the_keyboard(opened, report):
    page = opened(report).page
    page.locator("#chart").focus()
    page.keyboard.press("ArrowRight")
    first = page.locator("#tip").inner_text()
    page.keyboard.press("ArrowRight")
    second = page.locator("#tip").inner_text()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#tip").inner_text() == first != second
    page.keyboard.press("Escape")
    assert page.locator("#tip").is_hidden()


def test_the_legend_shows_one_cluster_alone(opened, report):
    page = opened(report).page
    button = page.locator("#legend button").nth(1)
    button.focus()
    page.keyboard.press("Enter")
    assert button.get_attribute("aria-pressed") == "true"
    faint = page.locator("g.dots").evaluate_all(
        "(groups) => groups.map((g) => +getComputedStyle(g).opacity < 0.5)"
    )
    assert faint == [True, False, True]
    page.locator("#chart").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").inner_text().splitlines()[1].startswith("cluster 1: ")
    button.press("Enter")
    assert button.get_attribute("aria-pressed") == "false"


def test_everything_is_reached_by_the_tabulator(opened, report):
    page = opened(report).page
    wanted, reached = {"A", "BUTTON", "chart", "sort", "filter", "PRE"}, set()
    for _ in range(400):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        if wanted <= reached:
            break
    assert wanted <= reached


def test_a_link_to_a_card_ends_at_the_card_even_if_it_was_filtered(opened, report):
    page = opened(report).page
    page.get_by_role("searchbox").fill("no such thing")
    page.locator("#between a").first.click()
    page.wait_for_function("document.activeElement.classList.contains('card')")
    assert len(cards(page)) == 3


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_serious(opened, report, scheme, width):
    page = opened(report).page
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    source = next(importlib.resources.files("axe_playwright_python").rglob("axe.min.js"))
    # By the protocol of the debugger, which the policy of the page does not bind.
    page.evaluate(source.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    serious = [v for v in found["violations"] if v["impact"] in ("serious", "critical")]
    assert found["passes"], "axe has looked at something"
    assert [(v["id"], [n["html"] for n in v["nodes"]][:3]) for v in serious] == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_wider_than_the_window(opened, report, width):
    page = opened(report).page
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_tables_are_readable_on_a_phone(opened, report):
    page = opened(report).page
    page.set_viewport_size({"width": 380, "height": 900})
    why = page.locator("#outliers tbody tr td:last-child").first.bounding_box()
    assert why["width"] > 250, "not a column of single words"
    labels = "(cell) => getComputedStyle(cell, ':before').content"
    cell = page.locator("#outliers tbody td").nth(1)
    assert cell.evaluate(labels).startswith('"score')
    page.set_viewport_size({"width": 1200, "height": 900})
    assert cell.evaluate(labels) == "none"


def test_dark_paper_is_dark_and_print_is_white(opened, report):
    page = opened(report).page
    light = {}
    for scheme, media in (("light", "screen"), ("dark", "screen"), ("dark", "print")):
        page.emulate_media(color_scheme=scheme, media=media)
        rgb = page.evaluate("getComputedStyle(document.body).backgroundColor")
        light[scheme, media] = sum(json.loads(f"[{rgb[4:-1]}]")) / 3
    assert light["light", "screen"] > 200
    assert light["dark", "screen"] < 50
    assert light["dark", "print"] == 255
    assert page.locator(".controls").is_hidden(), "controls are not printed"


def test_text_that_is_not_shown_is_printed(opened, report):
    page = opened(report).page
    page.get_by_role("searchbox").fill("no such thing")
    page.emulate_media(media="print")
    assert len(cards(page)) == 3
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("name", made.ODD)
def test_odd_pages_are_quiet(opened, tmp_path, name):
    model, X = made.ODD[name]()
    hostile = name == "hostile names"
    path = sfumato.report(
        model,
        X,
        tmp_path / "report.html",
        made.HOSTILE if hostile else None,
        show_rows=True,
        title=made.HOSTILE[1] if hostile else name,
        ids=[made.HOSTILE[i % len(made.HOSTILE)] for i in range(len(X))] if hostile else None,
    )
    page = opened(path).page
    page.locator("#chart").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#tip").is_visible()
    page.get_by_role("searchbox").fill("1")
    page.set_viewport_size({"width": 380, "height": 700})
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_the_check_of_pages_can_fail(browser, tmp_path, report):
    from tests.browser.conftest import Opened

    text = report.read_text(encoding="utf-8")
    bad = tmp_path / "bad.html"
    bad.write_text(text.replace("</main>", "</main><script>alert(1)</script>"), encoding="utf-8")
    page = Opened(browser, bad)
    with pytest.raises(AssertionError):
        page.check()
    assert page.page.evaluate("violations")
    page.page.close()
