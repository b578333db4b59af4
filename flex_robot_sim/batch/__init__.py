"""Many arms at once, on all cores."""
