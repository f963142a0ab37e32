"""What onnxruntime computes from an exported model is what the model itself says."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import cotas
from cotas import kernels
from cotas.fitting.certified import Certified
from cotas.selection.blend import Blend
from errors import refuses
from problems import clouds, regression, three_clouds

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

TWO, THREE, REAL = clouds(60, 3), three_clouds(60, 3), regression(40, 5)
NAMED = (TWO.X, np.where(TWO.y > 0, "sí", "no"))
OBJECTS = (THREE.X, np.array(["a", "b", "c"], dtype=object)[THREE.y])
MANY_TARGETS = (REAL.X, np.column_stack([REAL.y, -REAL.y + REAL.X[:, 0]]))


def with_gaps(data):
    """Some values missing, and a column of categories."""
    X = data.X.copy()
    X[:, 2] = np.round(2 * X[:, 2])
    X[::7, 0], X[::11, 2] = np.nan, np.nan
    return X, data.y


TREE = cotas.Tree(2, categorical_features=[2])
CASES = {
    "Perceptron": (cotas.Perceptron(max_iter=3), NAMED),
    "AveragedPerceptron": (cotas.AveragedPerceptron(max_iter=3), OBJECTS),
    "PassiveAggressive": (cotas.PassiveAggressive(max_iter=3), TWO),
    "Pegasos": (cotas.Pegasos(lam=0.1, random_state=0), THREE),
    "LinearSVM": (cotas.LinearSVM(lam=0.1), (TWO.X, TWO.y > 0)),
    "LinearSVM floats": (cotas.LinearSVM(lam=0.1), (TWO.X, TWO.y.astype(float))),
    "LinearSVM three": (cotas.LinearSVM(lam=0.1), THREE),
    "LogisticRegression": (cotas.LogisticRegression(lam=0.1), NAMED),
    "LogisticRegression softmax": (cotas.LogisticRegression(lam=0.1), OBJECTS),
    "LogisticRegression rest": (
        cotas.LogisticRegression(lam=0.01, penalty="l1", multiclass="ovr"),
        THREE,
    ),
    "LeastSquares": (cotas.LeastSquares(), MANY_TARGETS),
    "Ridge": (cotas.Ridge(lam=0.1), REAL),
    "Lasso": (cotas.Lasso(lam=0.1), REAL),
    "ElasticNet": (cotas.ElasticNet(lam=0.1), REAL),
    "KernelRidge": (cotas.KernelRidge(lam=0.1), REAL),
    "KernelSVR": (cotas.KernelSVR(lam=0.1), REAL),
    "LinearSVR": (cotas.LinearSVR(lam=0.1), MANY_TARGETS),
    "HuberRegressor": (cotas.HuberRegressor(lam=0.1), REAL),
    "LSBoost": (cotas.LSBoost(max_iter=20), REAL),
    "LSBoost trees": (cotas.LSBoost("tree", 5), REAL),
    "ForwardStagewise": (cotas.ForwardStagewise(max_iter=20), REAL),
    "RegularizedForwardStagewise": (
        cotas.RegularizedForwardStagewise(delta=2.0, max_iter=20),
        REAL,
    ),
    "KernelSVM": (cotas.KernelSVM(lam=0.1), NAMED),
    "KernelSVM pairs": (cotas.KernelSVM(lam=0.1), OBJECTS),
    "KernelSVM rest": (cotas.KernelSVM(lam=0.1, multiclass="ovr"), THREE),
    "KernelSVM sparse": (
        cotas.KernelSVM("linear", lam=0.1),
        (sparse.csr_matrix(np.round(THREE.X)), THREE.y),
    ),
    "KernelSVM precomputed": (
        cotas.KernelSVM("precomputed", lam=0.1),
        (TWO.X @ TWO.X.T, TWO.y),
    ),
    "KernelSVM fourier": (
        cotas.KernelSVM(lam=0.1, approximate="fourier", n_components=20, random_state=0),
        THREE,
    ),
    "KernelSVM nystroem": (
        cotas.KernelSVM(lam=0.1, approximate="nystroem", n_components=10, random_state=0),
        THREE,
    ),
    "KernelPegasos": (cotas.KernelPegasos(max_iter=3, random_state=0), THREE),
    "KernelPerceptron": (cotas.KernelPerceptron(kernels.Polynomial(2), max_iter=3), TWO),
    "AdaBoost": (cotas.AdaBoost(n_estimators=6), NAMED),
    "AdaBoost missing": (cotas.AdaBoost(n_estimators=6), with_gaps(THREE)),
    "AdaBoost linear": (cotas.AdaBoost("linear", n_estimators=4), THREE),
    "AdaBoost samme": (cotas.AdaBoost(TREE, n_estimators=4, multiclass="samme"), with_gaps(THREE)),
    "AdaBoost samme of two": (cotas.AdaBoost(n_estimators=4, multiclass="samme"), TWO),
    "RealAdaBoost": (cotas.RealAdaBoost(TREE, n_estimators=4), with_gaps(TWO)),
    "LogitBoost": (cotas.LogitBoost(cotas.Tree(3), n_estimators=4), TWO),
    "LogitBoost three": (cotas.LogitBoost(TREE, n_estimators=4), with_gaps(THREE)),
    "LogitBoost linear": (cotas.LogitBoost("linear", n_estimators=4), TWO),
    "GentleBoost": (cotas.GentleBoost(TREE, n_estimators=4), with_gaps(THREE)),
    "AnyBoost": (cotas.AnyBoost(n_estimators=4), THREE),
    "AnyBoost logistic": (cotas.AnyBoost(cost="logistic", n_estimators=4), TWO),
    "AnyBoost squared hinge": (cotas.AnyBoost(cost="squared hinge", n_estimators=4), THREE),
    "ConvexAnyBoost": (cotas.ConvexAnyBoost(n_estimators=4), TWO),
}
LINE, MACHINE = cotas.LogisticRegression(lam=0.1), cotas.KernelSVM(lam=0.1)
TREES = cotas.LogitBoost(cotas.Tree(2), n_estimators=4)
MIXED = [("line", LINE), ("machine", MACHINE), ("trees", TREES)]
NUMBERS = [
    ("line", cotas.Ridge()),
    ("kernel", cotas.KernelRidge()),
    ("trees", cotas.LSBoost("tree", 5)),
]
CASES |= {
    "blend": (Blend(MIXED, [3, 1, 1]), NAMED),
    "blend of three classes": (Blend(MIXED), OBJECTS),
    "blend of numbers": (Blend(NUMBERS, [1, 2, 3]), REAL),
}


def computed(exported, X):
    """The outputs by name."""
    session = runtime.InferenceSession(
        exported.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": X}), strict=True))


def assert_the_same(model, X, dtype=np.float64):
    given = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=dtype)
    found = computed(cotas.to_onnx(model, dtype=dtype), given)
    if "prediction" in found:
        np.testing.assert_allclose(found["prediction"], model.predict(given), rtol=1e-5, atol=1e-5)
        return
    expected = model.decision_function(given)
    assert found["scores"].shape == expected.shape
    np.testing.assert_allclose(found["scores"], expected, rtol=1e-5, atol=1e-5)
    # Rounding may decide only where two classes are as good as equal.
    ordered = np.sort(np.column_stack([np.zeros(len(X)), expected]) if expected.ndim == 1
                      else expected, axis=1)  # fmt: skip
    clear = ordered[:, -1] - ordered[:, -2] > 1e-5
    assert clear.any()
    assert found["label"][clear].tolist() == model.predict(given)[clear].tolist()
    assert ("probabilities" in found) == hasattr(model, "predict_proba")
    if "probabilities" in found:
        np.testing.assert_allclose(
            found["probabilities"], model.predict_proba(given), rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("name", CASES)
def test_exported_models_say_the_same(name):
    model, (X, y) = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert_the_same(model, X[:40])
    assert_the_same(model, X[:40], np.float32)


def test_every_estimator_is_tried():
    public = [getattr(cotas, name) for name in cotas.__all__]
    trained = {c for c in public if isinstance(c, type) and issubclass(c, Certified)}
    assert trained | {Blend} == {type(model) for model, _ in CASES.values()}


KERNELS = {
    "linear": kernels.Linear(),
    "polynomial": kernels.Polynomial(3, coef0=0.5, gamma=0.3),
    "RBF": kernels.RBF(0.7),
    "Gaussian": kernels.Gaussian([[1.0, 0.3, 0.0], [0.3, 2.0, 0.1], [0.0, 0.1, 1.5]]),
    "cosine": kernels.Cosine(),
    "sum": kernels.RBF(1.0) + 2 * kernels.Linear() + 0.5,
    "product": kernels.RBF(1.0) * kernels.Polynomial(2),
    "power": (kernels.Linear() + 1.0) ** 3,
    "exponential": (0.1 * kernels.Linear()).exp(),
    "normalized": (kernels.Polynomial(2) + kernels.RBF(2.0) * kernels.Cosine()).normalized(),
    "normalized exponential": (0.1 * kernels.Gaussian(np.eye(3))).exp().normalized() ** 2,
    "columns": kernels.RBF(1.0).on([0, 2]) + kernels.Linear().on([1]).normalized(),
    "constant": kernels.Constant(2.0),
}


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel(name):
    model = cotas.KernelPerceptron(KERNELS[name], max_iter=2).fit(*TWO)
    rows = np.vstack([TWO.X[:20], np.zeros((1, 3)), 3 * TWO.X[:5]])
    found = computed(cotas.to_onnx(model), rows)["scores"]
    np.testing.assert_allclose(found, model.decision_function(rows), rtol=1e-8, atol=1e-8)


def test_far_from_the_origin_an_rbf_stays_exact():
    X = TWO.X + 1e6
    model = cotas.KernelSVM(kernels.RBF(1.0), lam=0.1).fit(X, TWO.y)
    found = computed(cotas.to_onnx(model), X)["scores"]
    np.testing.assert_allclose(found, model.decision_function(X), atol=1e-5)


def test_categories_never_seen_and_missing_values_where_there_were_none():
    X, y = with_gaps(THREE)
    X[:, 1] = np.round(X[:, 1])
    model = cotas.LogitBoost(cotas.Tree(3, categorical_features=[1, 2]), n_estimators=6).fit(X, y)
    strange = np.array([[np.nan, np.nan, np.nan], [0.0, 77.0, -99.0], [0.0, 0.5, 1e300]])
    rows = np.vstack([X, strange])
    found = computed(cotas.to_onnx(model), rows)
    np.testing.assert_allclose(found["scores"], model.decision_function(rows), atol=1e-9)


def test_a_value_on_the_threshold_goes_left_in_both():
    X = np.array([[0.1], [0.2], [0.3], [0.4]])
    model = cotas.AdaBoost(cotas.Stump(search="exact"), n_estimators=2).fit(X, [0, 0, 1, 1])
    thresholds = np.unique(model.ensembles_[0].functions.threshold)
    near = np.concatenate([thresholds, np.nextafter(thresholds, 1), np.nextafter(thresholds, -1)])
    found = computed(cotas.to_onnx(model), near[:, None])
    np.testing.assert_array_equal(found["scores"], model.decision_function(near[:, None]))


def test_the_file_is_the_graph(tmp_path):
    onnx = pytest.importorskip("onnx")
    model = cotas.LinearSVM(lam=0.1).fit(*TWO)
    exported = cotas.to_onnx(model, tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == exported
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.onnx"]


@pytest.mark.parametrize(
    ("model", "data", "parameter"),
    [
        (cotas.KernelPerceptron(kernels.Custom(np.dot), max_iter=2), TWO, "model"),
        (cotas.AdaBoost(DecisionTreeClassifier(), n_estimators=2), TWO, "model"),
    ],
)
def test_what_onnx_cannot_hold(model, data, parameter):
    with refuses(parameter):
        cotas.to_onnx(model.fit(*data))


def test_labels_that_onnx_does_not_know():
    model = cotas.LinearSVM(lam=0.1).fit(*TWO)
    model.classes_ = np.array([0.5, 1.5])
    with refuses("model"):
        cotas.to_onnx(model)


def test_other_calls_that_make_no_sense():
    with pytest.raises(ValueError, match="fitted"):
        cotas.to_onnx(cotas.LinearSVM())
    with refuses("dtype", naming="float64"):
        cotas.to_onnx(cotas.LinearSVM(lam=0.1).fit(*TWO), dtype=np.int64)
    with pytest.raises(ValueError, match="DecisionTreeClassifier"):
        cotas.to_onnx(DecisionTreeClassifier().fit(*TWO))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("model", [LINE, MACHINE, TREES], ids=["line", "machine", "trees"])
def test_probabilities_that_were_calibrated_are_exported(model, classes):
    X, y = load_iris(return_X_y=True)
    X, y = (X[y < classes], y[y < classes])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = cotas.tables.PreparedModel(clone(model), probabilities=True).fit(X, y)
    given = whole.prepare(X)
    exported = cotas.to_onnx(whole.estimator_, calibration=whole.calibration_)
    found = computed(exported, np.asarray(given))
    np.testing.assert_allclose(found["probabilities"], whole.predict_proba(X), atol=1e-9)
