"""What a recording shows: series, figures, plots and a page."""
