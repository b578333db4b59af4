"""The bench as an arm, its twin, and the log and the comparison of an experiment."""
