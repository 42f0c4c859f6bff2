"""The command ``sfumato``: its options, and errors in one line.

Everything but the standard library is imported where it is used: a package that is missing is
reported with the extra that installs it, and ``--help`` and ``--version`` import click alone.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import click

EXTRAS = {
    "click": "cli",
    "rich": "cli",
    "pandas": "io",
    "pyarrow": "io",
    "matplotlib": "plot",
    "pebble": "reproduce",
    "jinja2": "reproduce",
}
"""Optional packages, and the extra of sfumato that installs each."""

FAILED = 2
"""Exit code for an error of the user, as of other commands."""
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after ``sfumato``; those of the process if None.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    try:
        command = program()
    except ModuleNotFoundError as error:
        _fail_for_missing(error)
    command.main(given or ["--help"], prog_name="sfumato")
    sys.exit(0)  # Never reached: the line above exits, but its type does not show it.


def program() -> click.Group:
    """Build the command with its subcommands."""
    import click

    class Program(click.Group):
        """Group of commands with errors in one line, and with the exit codes above."""

        def main(self, *args: Any, **kwargs: Any) -> NoReturn:
            _run(lambda: click.Group.main(self, *args, **{**kwargs, "standalone_mode": False}))

    return click.version_option(package_name="sfumato", prog_name="sfumato")(
        Program(
            name="sfumato",
            help="Robust, sparse, soft clustering: each row belongs to a few clusters.",
            commands=[_demo_command(), _cluster_command(), _reproduce_command()],
        )
    )


def _run(command: Any) -> NoReturn:
    """Run a click command; an error becomes one line and an exit code."""
    import click

    from sfumato.exceptions import UserError

    try:
        sys.exit(command() or 0)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "sfumato"
        _fail(f"{error.format_message().rstrip('.')}; see {where} --help.")
    except click.ClickException as error:
        _fail(error.format_message())
    except UserError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        _fail_for_missing(error)
    except (KeyboardInterrupt, click.Abort):
        print("sfumato: interrupted; no unfinished files are left.", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _fail(message: str) -> NoReturn:
    print(f"sfumato: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(FAILED)


def _fail_for_missing(error: ModuleNotFoundError) -> NoReturn:
    """Print which extra installs the package; raise again if none does."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    extra = EXTRAS[package]
    _fail(f'{package} is not installed, which this needs; run: pip install "sfumato[{extra}]"')


def _demo_command() -> click.Command:
    import click

    return click.Command(
        "demo",
        callback=_demo,
        help="Cluster scikit-learn's digits in several ways, side by side, with pictures.",
        params=[
            click.Option(
                ["--output"],
                type=click.Path(path_type=Path),
                default=Path("sfumato-demo"),
                show_default=True,
                help="Folder for the pictures.",
            ),
            click.Option(["--force"], is_flag=True, help="Replace pictures that are there."),
        ],
    )


def _demo(output: Path, force: bool) -> None:
    from sfumato.cli.demo import demo

    demo(output, force)


def _cluster_command() -> click.Command:
    import click

    return click.Command(
        "cluster",
        callback=_cluster,
        help="Cluster the rows of FILE (.csv, .parquet, .npy, .npz, or a folder of Parquet files) "
        "by REFCMFS, or by CappedREFCMFS, which outliers do not move. A file too large for "
        "--memory is streamed: read chunk by chunk, in every pass anew.",
        params=[
            click.Argument(["file"], type=click.Path(path_type=Path)),
            *_method_options(),
            *_input_options(),
            *_effort_options(),
            *_output_options(),
        ],
    )


def _method_options() -> list[click.Parameter]:
    import click

    whole, real = click.INT, click.FLOAT
    seeds = click.IntRange(0, 2**32 - 1)

    def option(names: list[str], kind: Any, default: Any, text: str) -> click.Option:
        return click.Option(names, type=kind, default=default, show_default=True, help=text)

    return [
        click.Option(["--n-clusters", "-k"], type=whole, required=True, help="Number of clusters."),
        click.Option(
            ["--robust"], is_flag=True, help="Let no outlier move a center, and list the outliers."
        ),
        _option_or_auto("--n-active", int, "Memberships per row; auto is at most 5."),
        _option_or_auto("--fuzzifier", float, "Exponent > 1; auto estimates it from the data."),
        option(["--random-state", "--seed"], seeds, 0, "Seed of the random numbers."),
        _option_or_auto("--n-init", int, "Number of starts; the best is kept."),
        option(["--max-iter"], whole, 300, "Largest number of iterations of a start."),
        option(["--tol"], real, 1e-7, "Relative fall of the objective at which to stop."),
        click.Option(["--n-threads"], type=whole, help="Threads.  [default: all processors]"),
    ]


def _option_or_auto(name: str, kind: type[int] | type[float], text: str) -> click.Option:
    """Option that takes a number, or the word auto."""
    import click

    def convert(context: click.Context, parameter: click.Parameter, value: str) -> Any:
        try:
            return value if value == "auto" else kind(value)
        except ValueError as error:
            words = {int: "a whole number", float: "a number"}[kind]
            raise click.BadParameter(f"{value!r} is neither {words} nor auto.") from error

    return click.Option(
        [name], default="auto", show_default=True, metavar="N|auto", callback=convert, help=text
    )


def _input_options() -> list[click.Parameter]:
    import click

    return [
        click.Option(["--columns"], metavar="A,B,...", help="Only these columns are features."),
        click.Option(
            ["--exclude"], multiple=True, metavar="NAME", help="Column to leave out; repeatable."
        ),
        click.Option(
            ["--non-numeric"],
            type=click.Choice(["error", "ignore"]),
            default="error",
            show_default=True,
            help="Whether columns without numbers are an error, or left out.",
        ),
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


def _effort_options() -> list[click.Parameter]:
    import click

    def convert(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
        if value is None:
            return None
        from sfumato.cli.memory import parse_size

        try:
            return parse_size(value)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return [
        click.Option(
            ["--memory"],
            metavar="SIZE",
            callback=convert,
            help="Memory that may be used, e.g. 2GB; a file that needs more is streamed.  "
            "[default: half of what is free]",
        ),
        click.Option(
            ["--checkpoint"],
            type=click.Path(path_type=Path),
            help="File for the state of the fit; after a crash, the same command continues it.",
        ),
    ]


def _output_options() -> list[click.Parameter]:
    import click

    return [
        click.Option(
            ["--output"],
            type=click.Path(path_type=Path),
            help="Folder for the results. [default: FILE's name with -clusters]",
        ),
        click.Option(
            ["--format", "file_format"],
            type=click.Choice(["csv", "parquet"]),
            default="csv",
            show_default=True,
            help="Format of the tables.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace results that are there."),
    ]


def _cluster(file: Path, **given: Any) -> None:
    from sfumato.cli.cluster import cluster_file
    from sfumato.cli.input import Source
    from sfumato.cli.report import PARAMETERS
    from sfumato.estimators import REFCMFS, CappedREFCMFS
    from sfumato.exceptions import UserError

    separator = given["separator"]
    if separator is not None:
        separator = separator.replace("\\t", "\t")
    if separator is not None and len(separator) != 1:
        raise UserError(f"--separator {separator!r} is not one character; use e.g. ';' or '\\t'.")
    source = Source(
        file,
        columns=tuple(name for name in (given["columns"] or "").split(",") if name),
        exclude=given["exclude"],
        ignore_text=given["non_numeric"] == "ignore",
        id_column=given["id_column"],
        key=given["key"],
        separator=separator,
        header=given["header"],
        decimal=given["decimal"],
    )
    method = CappedREFCMFS if given["robust"] else REFCMFS
    if given["checkpoint"] is not None:
        given["checkpoint"] = str(given["checkpoint"])
    model = method(**{name: given[name] for name in PARAMETERS})
    output = given["output"] or Path(f"{file.absolute().stem}-clusters")
    cluster_file(source, model, output, given["file_format"], given["force"], given["memory"])


def _reproduce_command() -> click.Command:
    import click

    def names(option: str, text: str) -> click.Option:
        return click.Option([option], multiple=True, metavar="NAME[,NAME...]", help=text)

    count = click.IntRange(min=1)
    return click.Command(
        "reproduce",
        callback=_reproduce,
        help="Compute the paper's tables and figures anew: methods on data sets, from several "
        "seeds. Finished runs are kept in the output folder, and are not repeated.",
        params=[
            names("--sets", "Data sets.  [default: the paper's six]"),
            names("--methods", "Rows of the tables.  [default: all]"),
            click.Option(["--runs"], type=count, help="Seeds.  [default: 10, or 3 if quick]"),
            click.Option(
                ["--jobs"], type=count, default=2, show_default=True, help="Processes, of 1 thread."
            ),
            click.Option(
                ["--time-limit"],
                type=click.FloatRange(min=0, min_open=True),
                default=200.0,
                show_default=True,
                help="Seconds that a run may take.",
            ),
            click.Option(
                ["--output"],
                type=click.Path(path_type=Path),
                help="Folder for the results.  [default: sfumato-paper, or sfumato-paper-quick]",
            ),
            click.Option(["--quick"], is_flag=True, help="Small sets, 3 seeds: three minutes."),
            click.Option(["--write-only"], is_flag=True, help="Only write finished runs."),
        ],
    )


def _reproduce(output: Path | None, jobs: int, time_limit: float, **given: Any) -> None:
    from sfumato.paper.reproduce import planned, reproduce

    experiment = planned(given["sets"], given["methods"], given["runs"], given["quick"])
    folder = output or Path("sfumato-paper-quick" if given["quick"] else "sfumato-paper")
    reproduce(experiment, folder, jobs, time_limit, given["write_only"])
