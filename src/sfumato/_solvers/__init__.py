"""HOW the minimum is looked for: seeds, the one loop, and what it leaves behind."""
