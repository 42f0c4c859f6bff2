"""Renew the tables and figures of docs/reproduction.md from a folder of ``sfumato reproduce``.

Run as ``python tools/write_reproduction.py FOLDER``. The text above the mark is written by hand and
stays; what is below it is replaced.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "reproduction.md"
MARK = "<!-- What follows is written by tools/write_reproduction.py. -->"
FIGURES = {
    "ranking": "The ranking, on the paper's example",
    "acc": "ACC over K~ and r",
    "nmi": "NMI over K~ and r",
    "memberships": "Membership values",
    "convergence": "Convergence",
}
"""Files of the folder's figures, and what to call them."""


def main(arguments: list[str]) -> int:
    """Write the page; returns the exit code."""
    if len(arguments) != 1 or not (Path(arguments[0]) / "tables.md").exists():
        print("Give one folder that `sfumato reproduce` has written.", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    text, mark, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    if not mark:
        print(f"{PAGE} has no line {MARK}", file=sys.stderr)
        return 2
    tables = (folder / "tables.md").read_text(encoding="utf-8")
    tables = re.sub(r"^# .*\n", "", tables, count=1)  # The page has a title of its own.
    parts = [text + mark + "\n\n" + tables.strip() + "\n"]
    for name, title in FIGURES.items():
        picture = DOCS / "images" / f"paper-{name}.png"
        shutil.copyfile(folder / "figures" / f"{name}.png", picture)
        parts.append(f"## {title}\n\n![{title}](images/{picture.name})\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")
    shutil.copyfile(folder / "tables.csv", DOCS / "reproduction.csv")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
