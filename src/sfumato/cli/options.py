"""The commands ``sfumato cluster`` and ``sfumato predict``: their options.

Beyond click, modules are imported when the command runs; see ``main``.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from sfumato.cli.methods import DEFAULT, METHODS, check_name, make_model
from sfumato.exceptions import UserError
from sfumato.files import OutputFolder

HELP = """Cluster the rows of FILE: .csv, .tsv, .parquet, .npy, .npz, .zarr, or a folder of Parquet
files. A file too large for --memory is streamed: read chunk by chunk, in every pass anew.

The last line says what was found: clusters, outliers, and the share of the other rows that surely
belong to one cluster, with a membership of 2/3 or more.

Messages and progress go to the error stream: a bar on a terminal, elsewhere a line now and then."""


PREDICT_HELP = """Predict the clusters of the rows of FILE with MODEL, a model.sfumato of the
command cluster or a file of sfumato.save. FILE may be of any kind and size that cluster takes; its
columns are matched by name, and others are left out."""


PREPARATION = (
    "scale",
    "skewed",
    "absurd",
    "missing",
    "numbers",
    "categories",
    "dates",
    "category_weight",
)
"""Parameters of ``TablePreparer`` that are options of the command."""


def cluster_command() -> click.Command:
    """Build the command ``cluster`` with its options."""
    return click.Command(
        "cluster",
        callback=_cluster,
        help=HELP,
        params=[
            click.Argument(["file"], type=click.Path(path_type=Path)),
            *_method_options(),
            *_column_options(),
            *_file_options(),
            _memory_option(),
            _checkpoint_option(),
            *_report_options(),
            *_output_options("-clusters"),
        ],
    )


def predict_command() -> click.Command:
    """Build the command ``predict`` with its options."""
    return click.Command(
        "predict",
        callback=_predict,
        help=PREDICT_HELP,
        params=[
            click.Argument(["model"], type=click.Path(path_type=Path)),
            click.Argument(["file"], type=click.Path(path_type=Path)),
            _exclude_option("Column to leave out, for a model without names; repeatable."),
            *_file_options(),
            _memory_option(),
            *_output_options("-predictions"),
        ],
    )


def _method_options() -> list[click.Parameter]:
    whole, real = click.INT, click.FLOAT
    seeds = click.IntRange(0, 2**32 - 1)

    def option(names: list[str], kind: Any, default: Any, text: str) -> click.Option:
        return click.Option(names, type=kind, default=default, show_default=True, help=text)

    return [
        _option_or_auto(
            "--n-clusters", int, "Number of clusters; auto finds it, and says why.", short="-k"
        ),
        click.Option(
            ["--method"],
            metavar="NAME",
            default=DEFAULT,
            show_default=True,
            callback=_check_method,
            help=f"One of {', '.join(METHODS)}. The default lets no outlier move a center.",
        ),
        click.Option(["--robust"], is_flag=True, hidden=True, callback=_refuse_robust),
        _option_or_auto("--n-active", int, "Memberships per row, at most; auto is at most 5."),
        _option_or_auto(
            "--fuzzifier",
            float,
            "Exponent > 1 of the memberships; auto estimates it.",
            "auto; 2 for fuzzy-c-means",
        ),
        _option_or_auto("--cap", float, "Distance from which on a row moves no center."),
        _option_or_auto("--gamma", float, "Strength of the penalty of rsfkm."),
        option(["--random-state", "--seed"], seeds, 0, "Seed of the random numbers."),
        _option_or_auto("--n-init", int, "Number of starts, of which the best is kept."),
        option(["--max-iter"], whole, 300, "Largest number of iterations of a start."),
        option(["--tol"], real, 1e-6, "Relative fall of the objective at which to stop."),
        click.Option(["--n-threads"], type=whole, help="Threads.  [default: all processors]"),
    ]


def _option_or_auto(
    name: str,
    kind: type[int] | type[float],
    text: str,
    default: str = "auto",
    short: str | None = None,
) -> click.Option:
    """Option that takes a number, or the word auto."""

    def convert(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        try:
            return value if value in (None, "auto") else kind(value)
        except ValueError as error:
            words = {int: "a whole number", float: "a number"}[kind]
            raise click.BadParameter(f"{value!r} is neither {words} nor auto.") from error

    names = [name] if short is None else [name, short]
    return click.Option(
        names, metavar="N|auto", callback=convert, help=f"{text}  [default: {default}]"
    )


def _check_method(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        return check_name(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _refuse_robust(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        raise click.UsageError(
            f"--robust is gone: it is the default now, --method {DEFAULT}; leave it out", context
        )


def _exclude_option(text: str) -> click.Option:
    return click.Option(["--exclude"], multiple=True, metavar="NAME", help=text)


def _column_options() -> list[click.Parameter]:
    return [
        click.Option(["--columns"], metavar="A,B,...", help="Only these columns are features."),
        _exclude_option("Column to leave out; repeatable."),
        click.Option(
            ["--non-numeric"],
            type=click.Choice(["encode", "ignore", "error"]),
            default="encode",
            show_default=True,
            help="What is done with text, dates and missing values of a table: they are made into "
            "numbers; such columns are left out; or they are an error.",
        ),
        *_preparation_options(),
    ]


def _preparation_options() -> list[click.Parameter]:
    """Options that override decisions about the columns of a table."""

    def choice(name: str, values: list[str], text: str) -> click.Option:
        return click.Option(
            [name], type=click.Choice(values), default=values[0], show_default=True, help=text
        )

    def columns(name: str, parameter: str, text: str) -> click.Option:
        return click.Option([name, parameter], multiple=True, metavar="NAME", help=text)

    return [
        choice(
            "--scale",
            ["auto", "robust", "standard", "none"],
            "Numbers of a table are divided by their spread among near rows, by their standard "
            "deviation, or not; auto is robust, or none for complete numbers of one unit.",
        ),
        choice("--skewed", ["level", "keep"], "Whether incomes and counts become logs and roots."),
        choice("--absurd", ["missing", "keep"], "Whether absurd numbers count as missing."),
        choice("--missing", ["similar", "median"], "How missing values are filled."),
        columns("--number", "numbers", "Column that holds numbers; repeatable."),
        columns("--category", "categories", "Column that holds categories; repeatable."),
        columns("--date", "dates", "Column that holds dates; repeatable."),
        click.Option(
            ["--category-weight"],
            type=click.FLOAT,
            default=1.0,
            show_default=True,
            help="Weight of a category; 1 is that of a number.",
        ),
    ]


def _file_options() -> list[click.Parameter]:
    return [
        click.Option(["--id-column"], metavar="NAME", help="Column that identifies the rows."),
        click.Option(["--key"], metavar="NAME", help="Array inside an .npz file."),
        click.Option(
            ["--separator"],
            metavar="CHARACTER",
            help="Between the columns of a text file.  [default: ',' for .csv, '\\t' for .tsv]",
        ),
        click.Option(
            ["--decimal"],
            type=click.Choice([".", ","]),
            default=".",
            show_default=True,
            help="Before the decimals of numbers in a text file.",
        ),
        click.Option(
            ["--header/--no-header"],
            default=True,
            show_default=True,
            help="Whether the first line of a text file names the columns.",
        ),
    ]


def _memory_option() -> click.Option:
    def convert(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        from sfumato.cli.memory import parse_size

        try:
            return parse_size(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return click.Option(
        ["--memory"],
        metavar="SIZE",
        callback=convert,
        help="Memory that may be used, e.g. 2GB; a file that needs more is streamed.  "
        "[default: half of what is free]",
    )


def _checkpoint_option() -> click.Option:
    return click.Option(
        ["--checkpoint"],
        type=click.Path(path_type=Path),
        help="File for the state of the fit; after a crash, the same command continues it.",
    )


def _report_options() -> list[click.Parameter]:
    return [
        click.Option(
            ["--report/--no-report"],
            default=True,
            show_default=True,
            help="Whether to write report.html, a page to read and to show to others.",
        ),
        click.Option(
            ["--show-rows"],
            is_flag=True,
            help="Show values and identifiers of single rows in the report.",
        ),
    ]


def _command_line(context: click.Context) -> str:
    """The command as it was given, but for where its results go."""
    words = ["sfumato", "cluster"]
    for parameter in context.command.params:
        name = parameter.name or ""
        given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if not given or name in ("output", "force", "quiet"):
            continue
        value = context.params[name]
        if isinstance(parameter, click.Argument):
            words.append(str(value))
        elif isinstance(value, bool):
            words.append([*parameter.secondary_opts, parameter.opts[0]][0 if not value else -1])
        else:
            for each in value if isinstance(value, tuple) else (value,):
                words += [parameter.opts[0], str(each)]
    return shlex.join(words)


def _output_options(ending: str) -> list[click.Parameter]:
    return [
        click.Option(
            ["--output"],
            type=click.Path(path_type=Path),
            help=f"Folder for the results. [default: FILE's name with {ending}]",
        ),
        click.Option(
            ["--format", "file_format"],
            type=click.Choice(["csv", "parquet"]),
            default="csv",
            show_default=True,
            help="Format of the tables.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace results that are there."),
        click.Option(["--quiet", "-q"], is_flag=True, help="Show no progress."),
    ]


def _source(file: Path, given: dict[str, Any]) -> Any:
    """The file, and which part of it to read."""
    from sfumato.cli.input import Source

    separator = given["separator"]
    if separator is not None:
        separator = separator.replace("\\t", "\t")
    if separator is not None and len(separator) != 1:
        raise UserError(f"--separator {separator!r} is not one character; use e.g. ';' or '\\t'.")
    preparation = None
    if given.get("non_numeric") == "encode":
        preparation = {name: given[name] for name in PREPARATION}
    return Source(
        file,
        preparation=preparation,
        columns=tuple(name for name in (given.get("columns") or "").split(",") if name),
        exclude=given["exclude"],
        ignore_text=given.get("non_numeric") == "ignore",
        id_column=given["id_column"],
        key=given["key"],
        separator=separator,
        header=given["header"],
        decimal=given["decimal"],
    )


def _cluster(file: Path, **given: Any) -> None:
    from sfumato.cli.cluster import ReportOptions, cluster_file

    source = _source(file, given)
    if given["checkpoint"] is not None:
        given["checkpoint"] = str(given["checkpoint"])
    model = make_model(given["method"], given)
    names = [f"{name}.{given['file_format']}" for name in ("labels", "memberships", "centers")]
    names += ["summary.json", "model.sfumato"]
    page = None
    if given["report"]:
        names.append("report.html")
        command = _command_line(click.get_current_context())
        page = ReportOptions(given["show_rows"], command)
    path = given["output"] or Path(f"{file.absolute().stem}-clusters")
    output = OutputFolder(path, tuple(names), given["force"])
    cluster_file(source, model, output, given["memory"], given["quiet"], page)


def _predict(model: Path, file: Path, **given: Any) -> None:
    from sfumato.cli.predict import predict_file

    path = given["output"] or Path(f"{file.absolute().stem}-predictions")
    source = _source(file, given)
    options = (given[name] for name in ("file_format", "force", "memory", "quiet"))
    predict_file(model, source, path, *options)
