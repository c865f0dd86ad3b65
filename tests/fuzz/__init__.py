"""Random input for everything that reads files or numbers from outside: ``python -m tests.fuzz``.

A module of this package has ``TARGETS``: functions by name, each of which draws one input with the
generator that it is given, writes what it needs into a folder, and gives the input to the library. An
`InputError` is a refusal and fine. Any other error, more than `runner.SECONDS` or more than `runner.BYTES` of
memory is a failure. To add a module, name it in `runner.MODULES`.
"""
