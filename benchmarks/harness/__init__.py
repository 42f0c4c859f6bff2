"""What the benchmarks share: data and clock, reports, and the page that is made from them."""
