"""How the rows and columns of X are laid out: the only place that knows what `indptr` is."""

from cotas.design.dense import Dense, StandardizedDense
from cotas.design.layout import Design, as_design, canonical, standardized
from cotas.design.operations import add, add_outer, add_squares, dot, n_features, n_vectors, norm2
from cotas.design.sparse import Csc, Csr, StandardizedCsr

__all__ = [
    "Csc",
    "Csr",
    "Dense",
    "Design",
    "StandardizedCsr",
    "StandardizedDense",
    "add",
    "add_outer",
    "add_squares",
    "as_design",
    "canonical",
    "dot",
    "n_features",
    "n_vectors",
    "norm2",
    "standardized",
]
