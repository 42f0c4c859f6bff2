"""Ways to find the number of clusters, compared; see ``__main__``."""
