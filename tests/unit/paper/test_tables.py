"""Tables: worked out by hand, at the borders, and read back."""

import io
import re
from dataclasses import replace

import pandas as pd
import pytest

from sfumato.paper.experiment import Experiment, Parameters, Printed
from sfumato.paper.results import (
    BY_LABELS,
    WITHOUT_LABELS,
    Line,
    Results,
    lines,
    rows_of,
    tally,
    to_csv,
    verdict,
)
from sfumato.paper.tables import NOTHING, Entry, markdown, tables
from tests.tables import read_exact
from tests.unit.paper import made


@pytest.fixture
def results():
    return Results(made.runs())


@pytest.fixture
def found(results):
    return {line[:3]: line for line in lines(results, made.experiment())}


def shown(results, experiment):
    return {t.key: t for t in tables(results, experiment, lines(results, experiment))}


@pytest.mark.parametrize(
    ("mean", "expected"),
    [
        (45.44, "worse"),
        (45.45, "within"),
        (47.88, "within"),
        (50.31, "within"),
        (50.314, "within"),  # What the printed digits cannot tell apart is the same.
        (50.32, "better"),
        (99.0, "better"),
        (0.0, "worse"),
    ],
)
def test_verdict_at_the_borders(mean, expected):
    assert verdict(mean, Printed(47.88, 2.43)) == expected


def test_a_printed_deviation_of_zero_still_leaves_the_digits_that_are_not_printed():
    assert verdict(9.3649, Printed(9.36, 0.0)) == "within"
    assert verdict(9.3651, Printed(9.36, 0.0)) == "better"
    assert verdict(9.3549, Printed(9.36, 0.0)) == "worse"


def test_no_verdict_without_a_printed_figure():
    assert verdict(50.0, None) == ""


def test_scores_beside_the_printed_ones(found):
    assert found["yale", "K-Means", "acc"] == Line(
        "yale", "K-Means", "acc", pytest.approx(45), pytest.approx(5), 2, 42.91, 6.18, "within"
    )
    # 50.31 is the printed mean and one printed deviation.
    assert found["yale", "REFCMFS", "acc"] == Line(
        "yale", "REFCMFS", "acc", pytest.approx(50.31), pytest.approx(1), 2, 47.88, 2.43, "within"
    )
    assert found["yale", "K-Medoids", "acc"].verdict == "worse"
    assert found["yale", "K-Medoids", "nmi"].verdict == "worse"
    assert found["yale", "K-Means", "nmi"].verdict == "better"


def test_failed_and_missing_rows(found):
    failed, missing = found["yale", "GMM", "acc"], found["yale", "RSFKM (capped)", "acc"]
    assert (failed.mean, failed.runs, failed.verdict) == (None, 0, "")
    assert failed.reason == made.REASON
    assert failed.printed_mean == 40.61
    assert missing == Line("yale", "RSFKM (capped)", "acc")
    assert found["digits", "K-Means", "acc"] == Line("digits", "K-Means", "acc")


def test_times_are_ratios_of_medians_to_k_means(found):
    assert found["yale", "K-Means", "seconds"].mean == pytest.approx(0.2)
    assert found["yale", "K-Means", "ratio"].mean == pytest.approx(1)
    ratio = found["yale", "REFCMFS", "ratio"]
    assert ratio.mean == pytest.approx(4)
    assert ratio.printed_mean == pytest.approx(0.2395 / 0.0544)
    assert ratio.verdict == ""
    assert found["yale", "GMM", "ratio"].mean is None
    assert found["yale", "GMM", "ratio"].printed_mean == pytest.approx(0.8921 / 0.0544)


def test_there_is_no_ratio_without_k_means():
    runs = [o for o in made.runs() if o.cell.method != "K-Means"]
    ratios = [o for o in lines(Results(runs), made.experiment("yale")) if o.measure == "ratio"]
    assert {line.mean for line in ratios} == {None}


def test_parameters_as_chosen(found):
    chosen = {row: [] for row in (BY_LABELS, WITHOUT_LABELS)}
    for row, values in chosen.items():
        values += [found["yale", row, name] for name in Parameters._fields]
    assert [line.mean for line in chosen[BY_LABELS]] == [9, 1.1, 1]
    assert [line.mean for line in chosen[WITHOUT_LABELS]] == [2, 1.1, 1]
    assert [line.printed_mean for line in chosen[BY_LABELS]] == [9, 1.1, None]
    # Rows of chosen parameters are compared with the paper's REFCMFS.
    assert found["yale", BY_LABELS, "acc"].mean == pytest.approx(70)
    assert found["yale", WITHOUT_LABELS, "acc"].mean == pytest.approx(60)
    assert found["yale", BY_LABELS, "acc"].printed_mean == 47.88


def test_only_sets_and_methods_of_the_experiment_each_once(results):
    experiment = Experiment(["digits", "yale"], ["REFCMFS", "K-Means"], runs=2)
    assert rows_of(experiment) == ["REFCMFS", "K-Means", BY_LABELS, WITHOUT_LABELS]
    keys = [line[:3] for line in lines(results, experiment)]
    assert len(keys) == len(set(keys)) == 2 * (4 * 4 + 2 * 3)
    assert list(dict.fromkeys(key[0] for key in keys)) == ["digits", "yale"]
    assert rows_of(Experiment(["yale"], ["K-Means"])) == ["K-Means"]


def test_tally_counts_the_rows_that_the_paper_has():
    given = [
        Line("yale", "REFCMFS", "acc", verdict="better"),
        Line("yale", "REFCMFS", "nmi", verdict="worse"),
        Line("yale", "K-Means", "nmi", verdict="worse"),
        Line("yale", BY_LABELS, "acc", verdict="better"),
        Line("yale", "REFCMFS (10 starts)", "acc", verdict="better"),
        Line("digits", "K-Means", "acc"),
    ]
    assert tally(given) == {"better": 1, "worse": 2}


def test_csv_is_read_back_by_pandas(results):
    given = lines(results, made.experiment())
    frame = read_exact(io.StringIO(to_csv(given)), keep_default_na=False, na_values=[""])
    assert list(frame.columns) == list(Line._fields)
    assert len(frame) == len(given)
    back = [
        tuple(None if pd.isna(value) else value for value in row)
        for row in frame.itertuples(index=False)
    ]
    # Empty text and no number look the same in a file.
    assert back == [tuple(None if value == "" else value for value in line) for line in given]
    assert made.REASON in set(frame["reason"])


def test_entries_as_text(results):
    by_name = dict(shown(results, made.experiment())["acc"].rows)
    assert by_name["K-Means"] == (
        Entry("45.00 ± 5.00", "42.91 ± 6.18", "within"),
        Entry(NOTHING, NOTHING),
    )
    assert by_name["K-Medoids"][0] == Entry("31.23", "37.58 ± 3.64", "worse")
    assert by_name["GMM"][0] == Entry(NOTHING, "40.61 ± 4.24", "", made.REASON)
    assert by_name["RSFKM (capped)"][0] == Entry(NOTHING, NOTHING)
    times = dict(shown(results, made.experiment())["ratio"].rows)
    assert times["REFCMFS"][0] == Entry("4.00", "4.40")
    assert times["K-Means, seconds"][0] == Entry("0.2000 s", "0.0544 s")


def test_rows_that_are_not_complete_say_so(results):
    experiment = Experiment(["yale"], made.METHODS, runs=5)
    by_name = dict(shown(results, experiment)["acc"].rows)
    assert by_name["K-Means"][0].ours == "45.00 ± 5.00, 2 of 5 runs"
    assert by_name[BY_LABELS][0].ours == "70.00 ± 0.00, 2 of 5 runs"
    assert by_name["K-Medoids"][0].ours == "31.23", "chance has no part in it"
    assert by_name["GMM"][0].ours == NOTHING


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2 * 9.994, "9.99"), (0.2 * 99.44, "99.4"), (0.2 * 2757.4, "2757")]
)
def test_ratios_have_three_digits_or_no_decimals(seconds, text):
    runs = [o for o in made.runs() if o.cell.method == "K-Means"]
    slow = made.Run(made.Cell("yale", "K-Medoids", 0), seconds, {"acc": 0.5, "nmi": 0.5})
    table = shown(Results([*runs, slow]), made.experiment("yale"))["ratio"]
    assert dict(table.rows)["K-Medoids"][0].ours == text


def test_parameters_state_the_steps_that_were_tried(results):
    table = shown(results, made.experiment())["parameters"]
    assert table.columns[:3] == ("paper", "by labels", "without labels")
    yale, digits = ([entry.ours for entry in entries] for _, entries in table.rows)
    assert yale == ["9, 1.1", "9, 1.1", "2, 1.1", "2, 9", "1.1, 1.2", "2"]
    assert digits == [NOTHING] * 6


def test_parameters_with_several_starts_say_so():
    stable = [o for o in made.runs() if o.cell.parameters == Parameters(2, 1.1)]
    uneven = [replace(o, measures=o.measures | {"objective": 1.0 + o.cell.seed}) for o in stable]
    table = shown(Results(uneven), made.experiment("yale"))["parameters"]
    assert table.rows[0][1][2].ours == "2, 1.1, 2 starts"


def test_there_is_no_table_of_parameters_without_a_grid(results):
    experiment = Experiment(["yale"], ["K-Means"], runs=2)
    assert list(shown(results, experiment)) == ["acc", "nmi", "ratio"]


def test_markdown_has_every_entry_in_its_place(results):
    experiment = made.experiment()
    given = shown(results, experiment).values()
    text = markdown(list(given))
    blocks = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(blocks) == len(given) == 4
    for block, table in zip(blocks, given, strict=True):
        cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in block.splitlines()]
        assert {len(row) for row in cells} == {len(table.columns) + 1}
        for row, (name, entries) in zip(cells[2:], table.rows, strict=True):
            plain = [re.sub(r"\\(.)", r"\1", cell).strip() for cell in row]
            assert plain[0] == name
            for cell, entry in zip(plain[1:], entries, strict=True):
                assert (entry.reason or entry.ours) in cell
                assert entry.printed in cell
                assert ("↑" in cell, "≈" in cell, "↓" in cell) == tuple(
                    entry.verdict == kind for kind in ("better", "within", "worse")
                )
