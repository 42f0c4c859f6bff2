"""How many clusters the data has: a mixture of components, and which of them are one cluster."""
