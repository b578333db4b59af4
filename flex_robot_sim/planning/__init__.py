"""Planning by the nonlinear model: rest-to-rest moves and iterative learning."""
