"""The figures by name, each with a line on what it shows."""

from __future__ import annotations

from cotas.experiments import (
    boosting,
    descent,
    generalization,
    kernel_machines,
    margins,
    memorizing,
    stagewise,
)
from cotas.experiments.drawing import boosting as draw_boosting
from cotas.experiments.drawing import descent as draw_descent
from cotas.experiments.drawing import generalization as draw_generalization
from cotas.experiments.drawing import kernel_machines as draw_kernels
from cotas.experiments.drawing import margins as draw_linear
from cotas.experiments.drawing import stagewise as draw_stagewise
from cotas.experiments.figure import Figure

LECTURE_NOTES = (
    Figure(
        "000-memorizer",
        "A classifier that learns by heart: no training error, and a validation error of ½",
        memorizing.memory,
        draw_linear.draw_memory,
    ),
    Figure(
        "000-3.1",
        "A linear classifier without bias",
        margins.halves,
        draw_linear.draw_halves,
    ),
    Figure(
        "000-3.2",
        "A linear classifier with bias",
        margins.with_bias,
        draw_linear.draw_halves,
    ),
    Figure(
        "000-3.3",
        "The orthogonal projection on the boundary",
        margins.projection,
        draw_linear.draw_projection,
    ),
    Figure(
        "000-3.4",
        "Margins and boundary; ringed examples have a hinge loss",
        margins.violations,
        draw_linear.draw_margins,
    ),
    Figure(
        "000-3.5",
        "A small λ avoids violations, a large one accepts them for a wider margin",
        margins.small_and_large,
        draw_linear.draw_margins,
    ),
    Figure(
        "000-3.6",
        "The linear separator with the largest margin",
        margins.widest,
        draw_linear.draw_margins,
    ),
)

BOOSTING = (
    Figure(
        "001-1.1",
        "The two costs as functions of F(x)",
        boosting.costs,
        draw_boosting.draw_costs,
    ),
    Figure(
        "001-1.2",
        "Ten clouds of points, five for each class, 1000 in all",
        boosting.clouds,
        draw_boosting.draw_cloud,
    ),
    Figure(
        "001-1.3",
        "Discrete AdaBoost with stumps after 1, 5, 10 and 100 models",
        boosting.stages,
        draw_boosting.draw_stages,
    ),
    Figure(
        "001-1.4",
        "Linear regressions for LogitBoost and GentleBoost, stumps for the others",
        boosting.with_regressions,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.5",
        "Trees of depth 1 for all the algorithms",
        boosting.with_stumps,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.6",
        "Trees of depth 3 for all the algorithms",
        boosting.with_trees,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.7",
        "Two normal distributions, and the boundary of the theoretical classifier",
        boosting.gaussians,
        draw_boosting.draw_cloud,
    ),
    Figure(
        "001-1.8",
        "Trees of depth 1 on the two normal distributions, beside the theory",
        boosting.against_theory,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.9",
        "Trees of depth 3 in dimension 100, on ten clouds",
        boosting.clouds_in_100,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.10",
        "Trees of depth 3 in dimension 100, on two normal distributions",
        boosting.gaussians_in_100,
        draw_boosting.draw_comparison,
    ),
)

STAGEWISE = (
    Figure(
        "001-2.1",
        "LS-Boost(0.3) for 50 iterations, and least squares",
        stagewise.ls_boost,
        draw_stagewise.draw_bars,
    ),
    Figure(
        "001-2.2",
        "FS₁ for 225 iterations, and least squares",
        stagewise.forward,
        draw_stagewise.draw_bars,
    ),
    Figure(
        "001-2.3",
        "R-FS₁ with δ = 200 for 250, 500 and 1000 iterations, and the Lasso",
        stagewise.regularized,
        draw_stagewise.draw_runs,
    ),
    Figure(
        "001-2.4",
        "FS₁ for 200 iterations, and the Lasso with δ = 200",
        stagewise.forward_and_lasso,
        draw_stagewise.draw_run,
    ),
    Figure(
        "001-2.5",
        "The Lasso path",
        stagewise.whole_path,
        draw_stagewise.draw_path,
    ),
    Figure(
        "001-2.6",
        "LS-Boost(0.01) for 100 iterations in dimension 100",
        stagewise.slow,
        draw_stagewise.draw_run,
    ),
    Figure(
        "001-2.7",
        "LS-Boost(0.1) for 100 iterations in dimension 100",
        stagewise.medium,
        draw_stagewise.draw_run,
    ),
    Figure(
        "001-2.8",
        "LS-Boost(1) for 100 iterations in dimension 100",
        stagewise.fast,
        draw_stagewise.draw_run,
    ),
    Figure(
        "001-2.9",
        "FS₁ for 200 iterations in dimension 100",
        stagewise.forward_in_100,
        draw_stagewise.draw_run,
    ),
    Figure(
        "001-2.10",
        "The Lasso path in dimension 100",
        stagewise.path_in_100,
        draw_stagewise.draw_path,
    ),
    Figure(
        "001-2.11",
        "R-FS₁ with δ = 200 in dimension 100, and the Lasso",
        stagewise.regularized_in_100,
        draw_stagewise.draw_runs,
    ),
)

KERNELS = (
    Figure(
        "002-intuition",
        "What a kernel is for: separable after a map to more features",
        kernel_machines.lifted,
        draw_kernels.draw_lifted,
    ),
    Figure(
        "002-linear",
        "Support vector machine with the linear kernel",
        kernel_machines.linear,
        draw_kernels.draw_kernel,
    ),
    Figure(
        "002-rbf",
        "Support vector machine with a radial basis function",
        kernel_machines.radial,
        draw_kernels.draw_kernel,
    ),
    Figure(
        "002-polynomial",
        "Support vector machine with a polynomial kernel",
        kernel_machines.polynomial,
        draw_kernels.draw_kernel,
    ),
)

DESCENT = (
    Figure(
        "003-houses",
        "Price against area, and the line of least squares",
        descent.line,
        draw_descent.draw_houses,
    ),
    Figure(
        "003-step",
        "Batch descent: a rate too small needs many steps, one too large oscillates",
        descent.step_sizes,
        draw_descent.draw_steps,
    ),
    Figure(
        "003-normalization",
        "Descent on raw and on normalized data",
        descent.normalization,
        draw_descent.draw_normalization,
    ),
    Figure(
        "003-stochastic",
        "Batch, stochastic and mini-batch descent",
        descent.batches,
        draw_descent.draw_batches,
    ),
)

GENERALIZATION = (
    Figure(
        "004-objective",
        "The balance of loss and penalty",
        generalization.balance,
        draw_generalization.draw_balance,
    ),
    Figure(
        "004-lambda-0.1",
        "λ = 0.1: every example on its side",
        generalization.lam_small,
        draw_linear.draw_margins,
    ),
    Figure(
        "004-lambda-100",
        "λ = 100: the margins let some examples in",
        generalization.lam_medium,
        draw_linear.draw_margins,
    ),
    Figure(
        "004-lambda-1000",
        "λ = 1000: all the points influence the solution",
        generalization.lam_large,
        draw_linear.draw_margins,
    ),
    Figure(
        "004-loss",
        "Training and test loss against c",
        generalization.losses,
        draw_generalization.draw_losses,
    ),
    Figure(
        "004-fitting",
        "Underfitting and overfitting, and ĉ by validation",
        generalization.losses,
        draw_generalization.draw_regimes,
    ),
    Figure(
        "004-slope",
        "Gradient descent with one parameter",
        generalization.slope,
        draw_generalization.draw_slope,
    ),
    Figure(
        "004-surface",
        "Gradient descent with two parameters, and stochastic descent",
        generalization.surface,
        draw_generalization.draw_surface,
    ),
)

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for document in (LECTURE_NOTES, BOOSTING, STAGEWISE, KERNELS, DESCENT, GENERALIZATION)
    for figure in document
}
