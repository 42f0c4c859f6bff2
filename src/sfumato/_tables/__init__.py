"""Tables as people have them, made into numbers: what each column is, and what is done with it."""
