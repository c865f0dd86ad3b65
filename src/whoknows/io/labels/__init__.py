"""Label files of every labelling tool, and logs of evaluation tools: read, recognised and written.

To add a tool, write one file with a `Format` and add it to `FORMATS` in ``read.py``.
"""
