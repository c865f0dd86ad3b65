"""Fits of projects: queued in the store, run by a process of their own."""
