"""whoknows: the truth, a classifier and every annotator's expertise, from who said what.

The public names are in ``__init__.pyi``. They are imported on first use, so that the command line starts
at once.
"""

import lazy_loader

__version__ = "0.2.0.dev0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
