"""Feedback that damps flexible links: LQG, strain feedback, design over poses."""
