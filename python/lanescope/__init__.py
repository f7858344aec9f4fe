"""Placement of computation graphs on many devices, measured and simulated."""
