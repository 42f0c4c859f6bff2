"""``python -m sfumato`` is the command ``sfumato``."""

from sfumato.cli.main import main

main()
