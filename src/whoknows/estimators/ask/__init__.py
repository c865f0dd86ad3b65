"""Which label to ask for next."""
