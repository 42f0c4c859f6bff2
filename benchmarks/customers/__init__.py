"""Tables of customers that are made, for the benchmark `tables`."""
