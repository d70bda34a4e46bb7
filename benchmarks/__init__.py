"""Benchmarks: each a module that prints a table and writes JSON."""
