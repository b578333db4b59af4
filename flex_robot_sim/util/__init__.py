"""Utilities that know nothing of robots: errors, files, settings, tables, figures."""
