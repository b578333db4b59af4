"""Checks before a release; not a part of the installed package."""
