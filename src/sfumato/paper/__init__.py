"""The paper's experiments: methods, cells, tables and figures.

``experiment`` lists the cells, each a method on a data set from a seed; ``runner`` runs those that
``store`` does not hold; ``results`` summarizes them beside ``expected.toml``, the printed figures;
``tables``, ``figures`` and ``report`` show the summary; ``reproduce`` is the command.
"""
