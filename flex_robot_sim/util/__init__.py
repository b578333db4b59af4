"""Utilities independent of robots: errors, files, settings, tables, figures."""
