"""What a fit is given: validation, gold, preprocessing."""
