"""From a file to a model and back: reading tables, preparing their columns, saving the whole."""

from cotas.files.libsvm import read_libsvm
from cotas.files.table import Table
from cotas.files.tables import read_table
from cotas.preparation.inspection import inspect_table
from cotas.preparation.preparation import Preparation
from cotas.preparation.prepared_model import PreparedModel
from cotas.scale.pages import Pages, open_pages
from cotas.selection.blend import Blend

__all__ = [
    "Blend",
    "Pages",
    "Preparation",
    "PreparedModel",
    "Table",
    "inspect_table",
    "open_pages",
    "read_libsvm",
    "read_table",
]
