"""An ONNX graph written down node by node, everything in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from cotas.arrays import AnyArray

OPSET = 18
IR_VERSION = 9


def import_onnx() -> Any:
    """Return the onnx package, or an error that says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "Exporting to ONNX needs the package onnx: pip install 'cotas[onnx]'."
        ) from error
    return onnx


def _node(kind: str, *, swapped: bool = False) -> Callable[[Value, Any], Value]:
    """Return the operator of Python that writes down this node of two values."""

    def write(self: Value, other: Any) -> Value:
        pair = (other, self) if swapped else (self, other)
        return self.graph.op(kind, *pair)

    return write


class Value:
    """The value of a node, or a constant; arithmetic with it, and with arrays, makes nodes."""

    __array_ufunc__ = None  # NumPy leaves arithmetic with it to this class

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    __add__ = __radd__ = _node("Add")
    __mul__ = __rmul__ = _node("Mul")
    __sub__, __rsub__ = _node("Sub"), _node("Sub", swapped=True)
    __truediv__, __pow__, __matmul__ = _node("Div"), _node("Pow"), _node("MatMul")
    __gt__, __and__, __or__ = _node("Greater"), _node("And"), _node("Or")

    def op(self, kind: str, *others: Any, **attributes: Any) -> Value:
        """Return what an operation makes of this value and others."""
        return self.graph.op(kind, self, *others, **attributes)

    def cast(self, dtype: DTypeLike) -> Value:
        """Return the same in another type."""
        kind = self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", to=kind)

    def where(self, yes: Any, no: Any) -> Value:
        """Return one where this is true, else the other."""
        return self.op("Where", yes, no)

    def sums(self) -> Value:
        """Return the sum of each row, as a column."""
        return self.op("ReduceSum", np.array([1]), keepdims=1)

    def squared_norms(self) -> Value:
        """Compute ‖x‖² of each row, as a column."""
        return (self * self).sums()

    def columns(self, chosen: Any) -> Value:
        """Return some columns."""
        return self.op("Gather", np.asarray(chosen, dtype=np.int64), axis=1)

    def column(self) -> Value:
        """Return a vector as a column."""
        return self.op("Unsqueeze", np.array([1]))

    def vector(self) -> Value:
        """Return a column as a vector."""
        return self.op("Squeeze", np.array([1]))

    def repeated(self, row: AnyArray) -> Value:
        """Return a row as often as this has rows."""
        n = self.op("Shape", start=0, end=1)
        return self.graph.op("Expand", row, n.op("Concat", np.array([row.shape[1]]), axis=0))


class Graph:
    """Nodes and constants."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> Value:
        """Return an array, or a number, in double precision or as a whole number of 64 bits."""
        array = np.asarray(values)
        if array.dtype.kind in "fi":
            array = array.astype(np.float64 if array.dtype.kind == "f" else np.int64)
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(array), name))
        return Value(self, name)

    def op(self, kind: str, *inputs: Any, name: str = "", **attributes: Any) -> Value:
        """Return what an operation makes of values, and of arrays, which become constants."""
        given = [one if isinstance(one, Value) else self.constant(one) for one in inputs]
        name = name or f"{kind}{len(self.nodes)}"
        make = self.onnx.helper.make_node
        self.nodes.append(make(kind, [one.name for one in given], [name], **attributes))
        return Value(self, name)

    def finished(self, name: str, inputs: list[Any], outputs: list[Any]) -> Any:
        """Return the whole model."""
        helper = self.onnx.helper
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        model = helper.make_model(
            graph,
            producer_name="cotas",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )
        self.onnx.checker.check_model(model)
        return model
