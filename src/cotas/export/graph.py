"""An ONNX graph written down node by node, everything in double precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from cotas.arrays import AnyArray

OPSET = 18
IR_VERSION = 9


def import_onnx() -> Any:
    """The onnx package, or an error that says how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "Exporting to ONNX needs the package onnx: pip install 'cotas[onnx]'."
        ) from error
    return onnx


class Graph:
    """Nodes and constants; a value is the name of what computes it."""

    def __init__(self) -> None:
        self.onnx = import_onnx()
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any) -> str:
        """An array, or a number in double precision."""
        array = np.asarray(values)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.array(array), name))
        return name

    def whole(self, *values: int) -> str:
        """A vector of whole numbers."""
        return self.constant(np.array(values, dtype=np.int64))

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """The value that this operation makes of others."""
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def name(self, value: str, name: str) -> None:
        """Give a value the name of an output."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value], [name]))

    # ---- what comes again and again --------------------------------------------------------------

    def cast(self, value: str, dtype: Any) -> str:
        """The value in another type."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.op("Cast", value, to=kind)

    def affine(self, X: str, W: AnyArray, b: Any) -> str:
        """X·W + b"""
        return self.op("Add", self.op("MatMul", X, self.constant(W)), self.constant(b))

    def squared_norms(self, X: str) -> str:
        """‖x‖² of each row, as a column."""
        return self.op("ReduceSum", self.op("Mul", X, X), self.whole(1), keepdims=1)

    def columns(self, X: str, chosen: Any) -> str:
        """Some columns."""
        return self.op("Gather", X, self.constant(np.asarray(chosen, dtype=np.int64)), axis=1)

    def repeated(self, row: AnyArray, X: str) -> str:
        """The same row as often as X has rows."""
        n = self.op("Shape", X, start=0, end=1)
        shape = self.op("Concat", n, self.whole(row.shape[1]), axis=0)
        return self.op("Expand", self.constant(row), shape)

    def signs(self, X: str) -> str:
        """+1 where a value is above zero, else −1."""
        above = self.op("Greater", X, self.constant(0.0))
        return self.op("Where", above, self.constant(1.0), self.constant(-1.0))

    def finished(self, name: str, inputs: list[Any], outputs: list[Any]) -> Any:
        """The whole model."""
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
