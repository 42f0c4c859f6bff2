"""Initial centers: greedy seeding, robust seeding, an automatic cap."""
