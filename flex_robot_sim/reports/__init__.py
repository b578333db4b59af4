"""Evaluation of a recording: time series, key figures, plots and a page."""
