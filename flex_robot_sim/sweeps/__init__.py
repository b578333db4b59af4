"""The same run many times over, each with other numbers, on whatever runs them."""
