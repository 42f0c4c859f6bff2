"""WHERE a pass runs: engines that sweep over the data and return statistics that add up."""
