"""The command ``sfumato``: its options, and errors in one line.

Everything but the standard library is imported where it is used: a package that is missing is
reported with the extra that installs it, and ``--help`` and ``--version`` import click alone.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from sfumato.cli.signals import end_on_signals, ending_line

if TYPE_CHECKING:
    import click

EXTRAS = {
    "click": "cli",
    "rich": "cli",
    "pandas": "io",
    "pyarrow": "io",
    "matplotlib": "plot",
    "pebble": "reproduce",
    "jinja2": "report",
}
"""Optional packages, and the extra of sfumato that installs each."""

FAILED = 2
"""Exit code for an error of the user, as of other commands."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit.

    Parameters
    ----------
    arguments : sequence of str, optional
        Words after ``sfumato``; those of the process if None.
    """
    if arguments is None:  # Otherwise the process is the caller's, and so are its signals.
        end_on_signals()
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

    from sfumato.cli.options import cluster_command, predict_command

    return click.version_option(package_name="sfumato", prog_name="sfumato")(
        Program(
            name="sfumato",
            help="Robust, sparse, soft clustering: each row belongs to a few clusters.",
            commands=[_demo_command(), cluster_command(), predict_command(), _reproduce_command()],
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
        text = error.format_message().rstrip(".")
        _fail(f"{text}{' See' if text.endswith('?') else '; see'} {where} --help.")
    except click.ClickException as error:
        _fail(error.format_message())
    except UserError as error:
        _fail(str(error))
    except ModuleNotFoundError as error:
        _fail_for_missing(error)
    except (KeyboardInterrupt, click.Abort):  # Where the handler is not this module's.
        sys.stderr.write(ending_line(signal.SIGINT))
        sys.exit(128 + signal.SIGINT)


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
        help="Cluster scikit-learn's digits in several ways, and a table of made customers, with "
        "pictures and reports.",
        params=[
            click.Option(
                ["--output"],
                type=click.Path(path_type=Path),
                default=Path("sfumato-demo"),
                show_default=True,
                help="Folder for the pictures and reports.",
            ),
            click.Option(["--force"], is_flag=True, help="Replace what is there."),
            click.Option(["--open", "show"], is_flag=True, help="Open the reports in a browser."),
        ],
    )


def _demo(output: Path, force: bool, show: bool) -> None:
    from sfumato.cli.demo import demo

    demo(output, force, show)


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
