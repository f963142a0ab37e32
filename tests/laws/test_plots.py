"""Pictures show what the models say, in both languages, and change nothing else."""

import re
import sys
import warnings
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import cotas
from cotas import kernels, plots
from cotas.plots import style
from cotas.plots.proofs import ITEMS
from cotas.words import spanish
from errors import refuses
from problems import clouds, regression, three_clouds

X, Y = clouds(60, 2)
X3, Y3 = three_clouds(60, 2)
XR, YR = regression(50, 6)
# What a picture may show besides the words of the table: names of code, and those given here.
NAMES = {"LinearSVM", "KernelSVM", "AdaBoost", "LSBoost", "Lasso", "LeastSquares"}
NAMES |= {"gradient", "Gram", "exp"}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def made():
    """One fit of each kind, shared by the tests."""
    records = []
    path = cotas.svm_path(X[:30], Y[:30], [1.0, 0.5, 0.2], validation=(X[30:], Y[30:]))
    return SimpleNamespace(
        svm=cotas.LinearSVM(lam=0.1, tol=1e-9, callbacks=records.append).fit(X, Y),
        records=records,
        kernel=cotas.KernelSVM(kernels.RBF(1.0), lam=0.1, tol=1e-8).fit(X, Y),
        boosted=cotas.AdaBoost(n_estimators=12).fit(X, Y),
        descent=cotas.LeastSquares(solver="gradient", standardize=True, tol=1e-4).fit(XR, YR),
        best=cotas.LeastSquares().fit(XR, YR),
        lsboost=cotas.LSBoost(eps=0.5, max_iter=80).fit(XR, YR),
        lasso=cotas.lasso_path(XR, YR, method="homotopy"),
        path=path,
    )


C = np.geomspace(0.01, 100, 9)
PICTURES = {
    "decision_boundary": lambda m, **o: plots.decision_boundary(m.svm, X, Y, **o),
    "kernel boundary": lambda m, **o: plots.decision_boundary(m.kernel, X, Y, **o),
    "boosted boundary": lambda m, **o: plots.decision_boundary(m.boosted, X, Y, **o),
    "loss_against_c": lambda m, **o: plots.loss_against_c(
        c=C, training=1 / C, validation=abs(np.log(C)) + 1, **o
    ),
    "learning_curve": lambda m, **o: plots.learning_curve(
        [10, 20, 40], np.full((3, 4), 0.1), [0.5, 0.3, 0.2], **o
    ),
    "bias_variance": lambda m, **o: plots.bias_variance(
        [1, 2, 3], [3, 1, 0.5], [0, 1, 4], 0.2, **o
    ),
    "convergence": lambda m, **o: plots.convergence(m.descent, data=(XR, YR), **o),
    "coefficient_path": lambda m, **o: plots.coefficient_path(m.lsboost, optimum=m.best, **o),
    "lasso path": lambda m, **o: plots.coefficient_path(m.lasso, optimum=0.3, **o),
    "path": lambda m, **o: plots.path(m.path, **o),
    "path of coefficients": lambda m, **o: plots.path(m.path, show="coefficients", **o),
    "boosting_stages": lambda m, **o: plots.boosting_stages(
        m.boosted, X, Y, validation=(X3, np.where(Y3 == 1, 1, -1)), **o
    ),
    "margin_distribution": lambda m, **o: plots.margin_distribution([m.svm, m.kernel], X, Y, **o),
    "feature_importances": lambda m, **o: plots.feature_importances(m.boosted, **o),
    "certificate_trace": lambda m, **o: plots.certificate_trace(m.records, **o),
    "theorem": lambda m, **o: plots.certificate_trace(m.lsboost, **o),
    "gram_matrix": lambda m, **o: plots.gram_matrix(m.kernel, X, Y, **o),
}
each_picture = pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES.keys())


def texts_of(figure):
    """Everything that is written in a figure, numbers of the ticks aside."""
    found = [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_visible()]
    return [text for text in found if re.search(r"[^\W\d_]", text)]


def words_in(texts):
    # Formulas and class names hold letters too; words have three letters or more.
    plain = [re.sub(r"\$.*?\$|\{.*?\}", " ", text) for text in texts]
    return {word for text in plain for word in re.findall(r"[^\W\d_]{3,}", text)}


VOCABULARY = {
    lang: words_in(entry[k] for entry in spanish().items()) for k, lang in enumerate(("en", "es"))
}


@each_picture
def test_draws_on_the_axes_given_and_leaves_the_settings_alone(made, draw):
    before = dict(mpl.rcParams)
    _, (first, second) = plt.subplots(1, 2)
    assert draw(made, ax=second) is second
    assert not first.has_data()
    assert second.has_data()
    second.figure.canvas.draw()
    assert draw(made, title="Mine").get_title() == "Mine"
    assert dict(mpl.rcParams) == before


@each_picture
def test_every_word_is_in_the_language_asked_for(made, draw):
    texts = {}
    for lang in ("en", "es"):
        texts[lang] = texts_of(draw(made, lang=lang).figure)
        assert texts[lang]
        assert words_in(texts[lang]) <= VOCABULARY[lang] | NAMES
        with plots.language(lang):
            assert texts_of(draw(made).figure) == texts[lang]
    assert texts_of(draw(made).figure) == texts["en"]


def test_unknown_language_is_refused(made):
    with refuses("lang", naming="fr"):
        plots.decision_boundary(made.svm, X, Y, lang="fr")
    with pytest.raises(ValueError, match="Spanish"), plots.language("french"):
        pass
    assert plots.path(made.path).get_xlabel() == "λ"


def test_without_matplotlib_the_error_says_what_to_install(made, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="plots"):
        plots.decision_boundary(made.svm, X, Y)


def test_a_picture_that_fails_leaves_no_figure_behind(made):
    with refuses("X"):
        plots.decision_boundary(made.svm, XR, YR)
    with refuses("item"):
        plots.certificate_trace(made.lsboost, item="nothing")
    assert not plt.get_fignums()


def test_curves_are_told_apart_without_colours():
    looks = [style.line_style(k) for k in range(64)]
    assert len({(str(look["color"]), str(look["linestyle"])) for look in looks}) == 64
    assert len({str(look["linestyle"]) for look in looks[:8]}) == 8
    assert len({style.line_style(k, points=True)["marker"] for k in range(8)}) == 8


# ---- boundaries ----------------------------------------------------------------------------------


def contour(ax, name):
    found = [part for part in ax.collections if part.get_gid() == name]
    return np.concatenate([path.vertices for part in found for path in part.get_paths()])


def ringed(ax):
    rings = [part for part in ax.collections if part.get_gid() == "rings"]
    return np.concatenate([part.get_offsets() for part in rings]) if rings else np.zeros((0, 2))


def as_set(rows):
    return set(map(tuple, np.round(rows, 9)))


def test_the_lines_of_a_linear_machine_are_where_it_scores_0_and_1(made):
    ax = plots.decision_boundary(made.svm, X, Y)
    assert np.abs(made.svm.decision_function(contour(ax, "boundary"))).max() < 1e-9
    scores = made.svm.decision_function(contour(ax, "margins"))
    assert np.abs(np.abs(scores) - 1).max() < 1e-9
    assert scores.min() < 0 < scores.max()
    assert as_set(ringed(ax)) == as_set(X[made.svm.support_])


@pytest.mark.parametrize("kind", ["kernel", "svc", "pipeline"])
def test_the_lines_of_a_curved_machine_are_where_it_scores_0_and_1(made, kind):
    model = made.kernel
    if kind == "svc":
        model = SVC().fit(X, Y)
    elif kind == "pipeline":
        model = make_pipeline(StandardScaler(), SVC()).fit(X, Y)
    ax = plots.decision_boundary(model, X, Y)
    assert np.abs(model.decision_function(contour(ax, "boundary"))).max() < 5e-3
    support = (model[-1] if kind == "pipeline" else model).support_
    assert as_set(ringed(ax)) == as_set(X[support])
    assert len(ringed(plots.decision_boundary(model, X, Y, rings=False))) == 0


def test_a_linear_model_without_support_vectors_rings_the_violations():
    model = cotas.Perceptron(max_iter=5).fit(X, Y)
    ax = plots.decision_boundary(model, X, Y, None, "Title")
    violated = Y * model.decision_function(X) < 1
    assert as_set(ringed(ax)) == as_set(X[violated])
    assert ax.get_title() == "Title"


def test_models_without_margins_draw_none(made):
    for model in (made.boosted, KNeighborsClassifier().fit(X, Y)):
        ax = plots.decision_boundary(model, X, Y)
        assert not [part for part in ax.collections if part.get_gid() == "margins"]
        assert len(ringed(ax)) == 0
    logistic = LogisticRegression().fit(X, Y)
    drawn = plots.decision_boundary(logistic, X, Y, margins=True)
    assert np.abs(np.abs(logistic.decision_function(contour(drawn, "margins"))) - 1).max() < 1e-9


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_the_columns_of_a_data_frame_name_the_axes(kind):
    frames = pytest.importorskip(kind)
    frame = frames.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = make_pipeline(StandardScaler(), cotas.Perceptron(max_iter=5))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns if the names are lost on the way
        ax = plots.decision_boundary(model.fit(frame, Y), frame, Y)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    scaled = model[:-1].transform(frame)
    assert len(ringed(ax)) == np.sum(Y * model[-1].decision_function(scaled) < 1)
    boosted = cotas.AdaBoost(n_estimators=3).fit(frame, Y)
    shown = {text.get_text() for text in plots.feature_importances(boosted).get_yticklabels()}
    assert shown == {"width", "height"}


def test_what_is_no_classifier_of_the_plane_is_refused(made):
    with refuses("model"):
        plots.decision_boundary(cotas.Ridge().fit(X, Y), X, Y)
    with refuses("X"):
        plots.decision_boundary(cotas.LinearSVM().fit(XR, YR > 5), X, Y)
    with refuses("X"):
        plots.decision_boundary(made.svm, X[:5], Y[:5])
    assert len(ringed(plots.decision_boundary(made.svm, X[:5], Y[:5], rings=False))) == 0


@pytest.mark.parametrize("model", [cotas.LinearSVM(lam=0.1), cotas.KernelSVM(lam=0.1)])
def test_regions_of_several_classes_are_the_predictions(model):
    names = np.array(["low", "mid", "top"])[Y3]
    model.fit(X3, names)
    ax = plots.decision_boundary(model, X3, names, resolution=30)
    mesh = next(part for part in ax.collections if hasattr(part, "get_coordinates"))
    codes = np.asarray(mesh.get_array()).reshape(30, 30)
    corners = mesh.get_coordinates()
    centres = (corners[:-1, :-1] + corners[1:, 1:]) / 2
    expected = model.predict(centres.reshape(-1, 2))
    assert (model.classes_[codes.ravel()] == expected).mean() == 1.0
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[:3] == ["y = low", "y = mid", "y = top"]


def test_a_sweep_shows_the_machine_of_each_lam():
    lams = [1.0, 0.1, 0.01]
    axes = plots.lambda_sweep(X, Y, lams, lang="es")
    for ax, lam in zip(axes, lams, strict=True):
        model = cotas.LinearSVM(lam=lam).fit(X, Y)
        assert np.abs(model.decision_function(contour(ax, "boundary"))).max() < 1e-6
        width = 2 / np.linalg.norm(model.coef_)
        assert ax.get_title() == f"λ = {lam:.3g}: margen {width:.3g}"
    _, given = plt.subplots(1, 3)
    drawn = plots.lambda_sweep(X, Y, lams, cotas.KernelSVM("rbf"), ax=given)
    assert list(drawn) == list(given)
    assert texts_of(axes[0].figure) != texts_of(plots.lambda_sweep(X, Y, lams)[0].figure)
    with refuses("model"):
        plots.lambda_sweep(X, Y, lams, SVC())
    with refuses("ax"):
        plots.lambda_sweep(X, Y, lams, ax=given[:2])


# ---- curves --------------------------------------------------------------------------------------


def by_gid(ax, gid):
    (found,) = [part for part in [*ax.lines, *ax.collections] if part.get_gid() == gid]
    return found


def by_label(ax, label):
    (found,) = [line for line in ax.lines if line.get_label() == label]
    return np.asarray(found.get_xydata())


def test_loss_against_c_marks_the_smallest_validation_loss():
    folds = np.stack([(np.log(C) - 1) ** 2, (np.log(C) - 1) ** 2 + 1], axis=1)
    shuffled = np.random.default_rng(0).permutation(len(C))
    ax = plots.loss_against_c(c=C[shuffled], training=1 / C[shuffled], validation=folds[shuffled])
    best = C[np.argmin(folds.mean(axis=1))]
    assert by_gid(ax, "best").get_xdata()[0] == best
    assert np.allclose(by_label(ax, "validation"), np.stack([C, folds.mean(axis=1)], axis=1))
    assert {"underfitting", "overfitting"} <= {text.get_text() for text in ax.texts}
    told = plots.loss_against_c(c=C, training=C, validation=C, best=0.3)
    assert by_gid(told, "best").get_xdata()[0] == 0.3
    with refuses("training"):
        plots.loss_against_c(c=C, validation=C)
    with refuses("validation"):
        plots.loss_against_c(c=C, training=C, validation=C[:3])
    with refuses("c"):
        plots.loss_against_c(c=-C, training=C, validation=C)


def test_answers_of_selection_need_no_arrays():
    losses = SimpleNamespace(
        training_loss=1 / C, validation_loss=C + 1 / C, training_error=C, validation_error=2 * C
    )
    choice = SimpleNamespace(c=C, best_c=C[3], over="lam", **vars(losses))
    choice.fold_losses = np.stack([C, C + 2], axis=1)
    ax = plots.loss_against_c(choice)
    top = by_gid(ax, "band").get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx((choice.validation_loss + 1).max())
    assert np.allclose(by_label(ax, "validation")[:, 1], choice.validation_loss)
    assert by_gid(ax, "best").get_xdata()[0] == C[3]
    errors = plots.loss_against_c(choice, measure="error")
    assert np.allclose(by_label(errors, "validation")[:, 1], choice.validation_error)
    with refuses("choice"):
        plots.loss_against_c(SimpleNamespace(c=None, over="gamma"))
    curves = SimpleNamespace(sizes=np.arange(1, 10), **vars(losses))
    drawn = by_label(plots.learning_curve(curves), "training")
    assert np.allclose(drawn, np.stack([curves.sizes, curves.training_error], axis=1))
    parts = SimpleNamespace(over="degree", values=(1, 2), noise=np.nan)
    parts.bias_squared, parts.variance = np.array([1.0, 0.5]), np.array([0.1, 0.2])
    ax = plots.bias_variance(parts)
    assert np.allclose(by_label(ax, "total error")[:, 1], [1.1, 0.7])
    assert ax.get_xlabel() == "degree"


def test_real_answers_of_selection_are_drawn_as_they_are():
    model, lams = cotas.LinearSVM(), [1.0, 0.1, 0.01]
    choice = cotas.choose(model, X, Y, "lam", lams, folds=3, random_state=0)
    ax = plots.loss_against_c(choice)
    assert np.allclose(by_label(ax, "validation")[:, 1], choice.validation_loss)
    assert by_gid(ax, "best").get_xdata()[0] == choice.best_c
    curves = cotas.learning_curves(model, X, Y, [10, 20, 40], random_state=0)
    drawn = by_label(plots.learning_curve(curves), "validation")
    assert np.allclose(drawn, np.stack([curves.sizes, curves.validation_error], axis=1))
    parts = cotas.bias_variance(
        cotas.Ridge(), (XR, YR), "lam", [0.1, 1.0], repeats=9, random_state=0
    )
    least = by_gid(plots.bias_variance(parts), "least").get_xydata()[0]
    total = parts.bias_squared + parts.variance + np.nan_to_num(parts.noise)
    assert least.tolist() == pytest.approx([parts.values[np.argmin(total)], total.min()])


def test_the_total_is_the_sum_and_its_least_is_marked():
    bias, variance = np.array([4.0, 1.0, 0.5]), np.array([0.0, 1.0, 5.0])
    ax = plots.bias_variance([1, 2, 3], bias, variance, noise=0.5)
    assert np.allclose(by_label(ax, "total error")[:, 1], bias + variance + 0.5)
    assert by_gid(ax, "least").get_xydata().tolist() == [[2.0, 2.5]]


def test_convergence_is_the_history_under_the_bound_of_the_rate(made):
    model = made.descent
    ax = plots.convergence(model, data=(XR, YR))
    drawn, bound = (line.get_xydata() for line in ax.lines)
    assert np.array_equal(drawn[:, 0], model.history_["iteration"])
    assert np.allclose(drawn[:, 1], model.history_["J"] - model.certificate_.lower)
    assert (drawn[:, 1] <= bound[:, 1] * (1 + 1e-6)).all()
    allowed = model.certificate_.figures["gap that the rate of gradient descent allows"]
    assert bound[-1, 1] == pytest.approx(allowed, rel=1e-6)
    plain = plots.convergence({"a": model.history_, "b": [3.0, 2.0, 1.0]})
    assert by_label(plain, "b").tolist() == [[1, 3], [2, 2], [3, 1]]
    assert plain.get_ylabel() == "objective J"
    with refuses("run"):
        plots.convergence(made.best)


# ---- paths ---------------------------------------------------------------------------------------


def test_stagewise_paths_are_the_coefficients_and_end_at_the_mark(made):
    model = made.lsboost
    ax = plots.coefficient_path(model, optimum=made.best, names=list("abcdef"))
    for j, name in enumerate("abcdef"):
        drawn = by_label(ax, name)
        assert drawn[-1, 1] == pytest.approx(model.coef_[j] * model.path_.scale[j])
        assert drawn[40, 1] == pytest.approx(model.path_.unit_coef(40)[j])
        assert drawn[40, 0] == pytest.approx(np.abs(model.path_.unit_coef(40)).sum())
    marks = by_gid(ax, "optimum").get_offsets()
    optimum = made.best.coef_ * model.path_.scale
    assert np.allclose(marks, np.stack([np.full(6, np.abs(optimum).sum()), optimum], axis=1))
    steps = plots.coefficient_path(model, against="iteration", optimum=made.best)
    assert np.allclose(by_gid(steps, "optimum").get_offsets()[:, 0], model.n_iter_)


def test_the_mark_on_a_lasso_path_is_the_lasso(made):
    path = made.lasso
    lam = float(np.sqrt(path.lams[1] * path.lams[2]))
    model = cotas.Lasso(lam=lam, tol=1e-10).fit(XR, YR)
    for optimum in (lam, model):
        marks = by_gid(plots.coefficient_path(path, optimum=optimum), "optimum").get_offsets()
        assert np.allclose(marks[:, 1], model.coef_, atol=1e-4)
        assert np.allclose(marks[:, 0], np.abs(model.coef_).sum(), rtol=1e-4)
    drawn = plots.coefficient_path(path, against="lam", optimum=lam)
    assert np.allclose(by_gid(drawn, "optimum").get_offsets()[:, 0], lam)
    assert np.allclose(
        by_label(drawn, "feature 0"), np.stack([path.lams, path.coefs[:, 0]], axis=1)
    )


def test_a_path_of_machines_shows_errors_and_what_is_proved_between_them(made):
    ax = plots.path(made.path)
    validation = by_label(ax, "validation")
    assert np.allclose(validation[:, 1], made.path.validation_errors)
    best = by_gid(ax, "best").get_xydata()[0]
    assert best.tolist() == [made.path.best_lam, made.path.validation_errors.min()]
    (stairs,) = ax.patches
    assert stairs.get_data().values.tolist() == made.path.validation_bound.lower[::-1].tolist()
    coefs = plots.path(made.path, show="coefficients", names=["a", "b"])
    assert np.allclose(by_label(coefs, "b")[:, 1], made.path.coefs[:, 0, 1])


# ---- boosting ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [cotas.AdaBoost, cotas.LogitBoost])
def test_the_stages_are_the_errors_and_the_bound_of_each_prefix(kind):
    model = kind(n_estimators=8).fit(X, Y)
    ax = plots.boosting_stages(model, X, Y, validation=(X[:20], Y[:20]))
    training, bound = by_label(ax, "training error"), by_label(ax, "proved bound")
    for k in (1, 4, 8):
        prefix = model[:k]
        assert training[k - 1].tolist() == [k, pytest.approx(1 - prefix.score(X, Y))]
        assert bound[k - 1, 1] == pytest.approx(cotas.certify(prefix, X, Y).upper, rel=1e-6)
        held = 1 - prefix.score(X[:20], Y[:20])
        assert by_label(ax, "validation error")[k - 1, 1] == pytest.approx(held)
    assert (training[:, 1] <= bound[:, 1]).all()


def test_the_margins_are_a_distribution_and_its_start_is_certified(made):
    theirs = AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, Y)
    ax = plots.margin_distribution({"ours": made.boosted, "theirs": theirs}, X, Y)
    ours = by_label(ax, "ours")
    smallest = made.boosted.certificate_.figures["smallest margin yF/Σ|c|"]
    assert ours[0, 0] == pytest.approx(smallest)
    assert ours[-1, 1] == 1.0
    for label, model in (("ours", made.boosted), ("theirs", theirs)):
        curve = by_label(ax, label)
        wrong = np.sum(curve[1:, 0] < 0) / len(X)
        assert wrong == pytest.approx(1 - model.score(X, Y))
        assert np.abs(curve[:, 0]).max() <= 1 + 1e-9


def test_several_classes_have_voting_margins_and_no_borrowed_bound():
    model = cotas.AdaBoost(n_estimators=6, multiclass="samme").fit(X3, Y3)
    curve = plots.margin_distribution(model, X3, Y3).lines[0].get_xydata()
    smallest = model.certificate_.figures["smallest margin, as a share of all votes"]
    assert curve[0, 0] == pytest.approx(smallest)
    # Its bound is no multiple of its loss, so that of other rounds is not known.
    stages = plots.boosting_stages(model, X3, Y3)
    assert [line.get_label() for line in stages.lines] == ["training error"]


def test_the_margins_of_a_hard_margin_start_at_half_its_width():
    far = X + 3 * Y[:, None]
    model = cotas.LinearSVM(margin="hard").fit(far, Y)
    curve = plots.margin_distribution(model, far, Y).lines[0].get_xydata()
    assert curve[0, 0] == pytest.approx(model.margin_width_[0] / 2)
    several = cotas.LinearSVM(lam=0.1).fit(X3, Y3)
    curve = plots.margin_distribution(several, X3, Y3).lines[0].get_xydata()
    assert np.sum(curve[1:, 0] < 0) / len(X3) == pytest.approx(1 - several.score(X3, Y3))


def test_importances_come_sorted_with_their_names(made):
    ax = plots.feature_importances(made.boosted, names=["first", "second"])
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == sorted(made.boosted.feature_importances_)
    order = np.argsort(made.boosted.feature_importances_)
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert shown == [["first", "second"][j] for j in order]
    linear = plots.feature_importances(cotas.LinearSVM(lam=0.1).fit(XR, YR.mean() < YR), top=3)
    assert len(linear.patches) == 3


# ---- proofs and kernels --------------------------------------------------------------------------


def test_the_trace_is_the_gap_of_each_report(made):
    ax = plots.certificate_trace(made.records, against="iteration")
    seen = [(r.iteration, r.certificate.relative_gap) for r in made.records]
    seen = np.array([pair for pair in seen if pair[1] > 0])
    assert np.array_equal(by_gid(ax, "gaps").get_xydata(), seen)
    best = by_label(ax, "best so far")
    assert np.array_equal(best[:, 1], np.minimum.accumulate(seen[:, 1]))
    with refuses("records"):
        plots.certificate_trace([])
    with refuses("records"):
        plots.certificate_trace(made.svm)


@pytest.mark.parametrize("item", [0, 2, -1])
def test_what_was_measured_lies_under_what_the_theorem_allows(made, item):
    name = made.lsboost.certificate_.at(0)[item].name
    ax = plots.certificate_trace(made.lsboost, item=name)
    measured, allowed = by_label(ax, "measured"), by_label(ax, "allowed by the theorem")
    assert measured[-1, 1] == pytest.approx(made.lsboost.certificate_.at(80)[item].measured)
    known = ~np.isnan(allowed[:, 1])
    assert (measured[known, 1] <= allowed[known, 1] * (1 + 1e-9)).all()


def test_every_item_of_every_theorem_has_its_words():
    for model in (
        cotas.LSBoost(max_iter=3),
        cotas.ForwardStagewise(max_iter=3),
        cotas.RegularizedForwardStagewise(eps=0.1, delta=5.0, max_iter=3),
    ):
        assert {item.name for item in model.fit(XR, YR).certificate_.at(3)} <= set(ITEMS)


def test_the_gram_matrix_is_ordered_by_class():
    kernel = kernels.RBF(0.5)
    ax = plots.gram_matrix(kernel, X, Y)
    order = np.argsort(Y, kind="stable")
    assert np.allclose(ax.images[0].get_array(), kernels.gram(kernel, X)[np.ix_(order, order)])
    assert [text.get_text() for text in ax.get_xticklabels()] == ["y = -1", "y = 1"]


def test_a_gram_matrix_without_classes_keeps_the_order_of_the_rows():
    ax = plots.gram_matrix("linear", X)
    assert np.allclose(ax.images[0].get_array(), X @ X.T)
    with refuses("X", naming="2000"):
        plots.gram_matrix("linear", np.zeros((2001, 1)))
    with refuses("y"):
        plots.gram_matrix("linear", X, Y[:3])


def test_nothing_to_draw_is_said():
    with refuses("models"):
        plots.convergence([])
    with refuses("models"):
        plots.margin_distribution([], X, Y)


def test_missing_values_do_not_spoil_the_axes():
    holes = X.copy()
    holes[3, 0] = np.nan
    ax = plots.decision_boundary(cotas.AdaBoost(n_estimators=3).fit(holes, Y), holes, Y)
    assert np.isfinite([*ax.get_xlim(), *ax.get_ylim()]).all()


def test_unfitted_models_are_told_to_fit():
    for draw in (
        lambda: plots.decision_boundary(cotas.LinearSVM(), X, Y),
        lambda: plots.convergence(cotas.Ridge(solver="gradient")),
        lambda: plots.coefficient_path(cotas.LSBoost()),
        lambda: plots.boosting_stages(cotas.AdaBoost(), X, Y),
        lambda: plots.margin_distribution(cotas.LinearSVM(), X, Y),
        lambda: plots.feature_importances(cotas.AdaBoost()),
        lambda: plots.certificate_trace(cotas.LSBoost()),
    ):
        with pytest.raises(NotFittedError):
            draw()
