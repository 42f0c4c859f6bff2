"""How the minimum is found: descent from one start, acceleration, restarts, online updates."""
