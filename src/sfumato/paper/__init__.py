"""The paper's experiments: methods, protocol, tables and figures.

Top to bottom: ``experiment`` says which cells there are, a cell being a method on a data set from a
seed; ``runner`` runs those that ``store`` does not hold yet; ``results`` summarizes what it holds;
``tables``, ``figures`` and ``page`` show it beside ``expected.toml``, the printed figures.
"""
