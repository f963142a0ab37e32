"""The figures by name, each in a line of English and of Spanish."""

from __future__ import annotations

from cotas.experiments import (
    boosting,
    descent,
    generalization,
    kernel_machines,
    margins,
    memorizing,
    promises,
    stagewise,
)
from cotas.experiments.drawing import boosting as draw_boosting
from cotas.experiments.drawing import descent as draw_descent
from cotas.experiments.drawing import generalization as draw_generalization
from cotas.experiments.drawing import kernel_machines as draw_kernels
from cotas.experiments.drawing import margins as draw_linear
from cotas.experiments.drawing import promises as draw_promises
from cotas.experiments.drawing import stagewise as draw_stagewise
from cotas.experiments.figure import Figure

LECTURE_NOTES = (
    Figure(
        "000-memorizer",
        "Learning by heart: no training error, validation error ½",
        "Memorizar: error de entrenamiento nulo, error de validación ½",
        memorizing.memory,
        draw_linear.draw_memory,
    ),
    Figure(
        "000-3.1",
        "A linear classifier without bias",
        "Clasificador lineal sin sesgo",
        margins.halves,
        draw_linear.draw_halves,
    ),
    Figure(
        "000-3.2",
        "A linear classifier with bias",
        "Clasificador lineal con sesgo",
        margins.with_bias,
        draw_linear.draw_halves,
    ),
    Figure(
        "000-3.3",
        "The orthogonal projection on the boundary",
        "Proyección ortogonal sobre la frontera",
        margins.projection,
        draw_linear.draw_projection,
    ),
    Figure(
        "000-3.4",
        "Margins and boundary: ringed examples have a hinge loss",
        "Fronteras de margen y de decisión; los marcados tienen pérdida",
        margins.violations,
        draw_linear.draw_margins,
    ),
    Figure(
        "000-3.5",
        "A small λ avoids violations, a large one accepts them",
        "Un λ pequeño evita violaciones; uno grande las acepta",
        margins.small_and_large,
        draw_linear.draw_margins,
    ),
    Figure(
        "000-3.6",
        "The linear separator with the largest margin",
        "Separador lineal de margen máximo",
        margins.widest,
        draw_linear.draw_widest,
    ),
)

BOOSTING = (
    Figure(
        "001-1.1",
        "The two costs as functions of F(x)",
        "Las dos funciones de costo en función de F(x)",
        boosting.costs,
        draw_boosting.draw_costs,
    ),
    Figure(
        "001-1.2",
        "Ten clouds of points, five for each class, 1000 in all",
        "Diez nubes de datos, cinco para cada clase, 1000 en total",
        boosting.clouds,
        draw_boosting.draw_cloud,
    ),
    Figure(
        "001-1.3",
        "Discrete AdaBoost with stumps after 1, 5, 10 and 100 models",
        "AdaBoost discreto con árboles de profundidad 1",
        boosting.stages,
        draw_boosting.draw_stages,
    ),
    Figure(
        "001-1.4",
        "LogitBoost and GentleBoost with regressions, the others with stumps",
        "LogitBoost y GentleBoost con regresiones; los demás, con árboles",
        boosting.with_regressions,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.5",
        "Trees of depth 1 for all the algorithms",
        "Árboles de profundidad 1 en todos los algoritmos",
        boosting.with_stumps,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.6",
        "Trees of depth 3 for all the algorithms",
        "Árboles de profundidad 3 en todos los algoritmos",
        boosting.with_trees,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.7",
        "Two normal distributions and the theoretical boundary",
        "Dos distribuciones normales y la frontera teórica",
        boosting.gaussians,
        draw_boosting.draw_cloud,
    ),
    Figure(
        "001-1.8",
        "Trees of depth 1 on two normal distributions, and the theory",
        "Árboles de profundidad 1 con dos normales, y la teoría",
        boosting.against_theory,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.9",
        "Trees of depth 3 in dimension 100, on ten clouds",
        "Árboles de profundidad 3 en dimensión 100, con diez nubes",
        boosting.clouds_in_100,
        draw_boosting.draw_comparison,
    ),
    Figure(
        "001-1.10",
        "Trees of depth 3 in dimension 100, on two normal distributions",
        "Árboles de profundidad 3 en dimensión 100, con dos normales",
        boosting.gaussians_in_100,
        draw_boosting.draw_comparison,
    ),
)

STAGEWISE = (
    Figure(
        "001-2.1",
        "LS-Boost(0.3) for 50 iterations, and least squares",
        "LS-Boost(0.3) durante 50 iteraciones y mínimos cuadrados",
        stagewise.ls_boost,
        draw_stagewise.draw_bars,
    ),
    Figure(
        "001-2.2",
        "FS₁ for 225 iterations, and least squares",
        "FS₁ durante 225 iteraciones y mínimos cuadrados",
        stagewise.forward,
        draw_stagewise.draw_bars,
    ),
    Figure(
        "001-2.3",
        "R-FS₁ with δ = 200 for 250, 500 and 1000 iterations, and the Lasso",
        "R-FS₁ con δ = 200 durante 250, 500 y 1000 iteraciones, y Lasso",
        stagewise.regularized,
        draw_stagewise.draw_runs,
    ),
    Figure(
        "001-2.4",
        "FS₁ for 200 iterations, and the Lasso with δ = 200",
        "FS₁ durante 200 iteraciones y Lasso con δ = 200",
        stagewise.forward_and_lasso,
        draw_stagewise.draw_run,
    ),
    Figure(
        "001-2.5",
        "The Lasso path",
        "El camino de Lasso («Lasso path»)",
        stagewise.whole_path,
        draw_stagewise.draw_path,
    ),
    Figure(
        "001-2.6",
        "LS-Boost(0.01) for 100 iterations in dimension 100",
        "LS-Boost(0.01) durante 100 iteraciones en dimensión 100",
        stagewise.slow,
        draw_stagewise.draw_progress,
    ),
    Figure(
        "001-2.7",
        "LS-Boost(0.1) for 100 iterations in dimension 100",
        "LS-Boost(0.1) durante 100 iteraciones en dimensión 100",
        stagewise.medium,
        draw_stagewise.draw_progress,
    ),
    Figure(
        "001-2.8",
        "LS-Boost(1) for 100 iterations in dimension 100",
        "LS-Boost(1) durante 100 iteraciones en dimensión 100",
        stagewise.fast,
        draw_stagewise.draw_run,
    ),
    Figure(
        "001-2.9",
        "FS₁ for 200 iterations in dimension 100",
        "FS₁ durante 200 iteraciones en dimensión 100",
        stagewise.forward_in_100,
        draw_stagewise.draw_progress,
    ),
    Figure(
        "001-2.10",
        "The Lasso path in dimension 100",
        "El camino de Lasso en dimensión 100",
        stagewise.path_in_100,
        draw_stagewise.draw_path,
    ),
    Figure(
        "001-2.11",
        "R-FS₁ with δ = 200 in dimension 100, and the Lasso",
        "R-FS₁ con δ = 200 en dimensión 100, y Lasso",
        stagewise.regularized_in_100,
        draw_stagewise.draw_runs,
    ),
)

KERNELS = (
    Figure(
        "002-intuition",
        "What a kernel is for: separable after a map to more features",
        "La intuición de un kernel: separables tras un mapeo a otro espacio",
        kernel_machines.lifted,
        draw_kernels.draw_lifted,
    ),
    Figure(
        "002-linear",
        "Support vector machine with the linear kernel",
        "SVM con kernel lineal",
        kernel_machines.linear,
        draw_kernels.draw_kernel,
    ),
    Figure(
        "002-rbf",
        "Support vector machine with a radial basis function",
        "SVM con función de base radial",
        kernel_machines.radial,
        draw_kernels.draw_kernel,
    ),
    Figure(
        "002-polynomial",
        "Support vector machine with a polynomial kernel",
        "SVM con kernel polinomial",
        kernel_machines.polynomial,
        draw_kernels.draw_kernel,
    ),
)

DESCENT = (
    Figure(
        "003-houses",
        "Price against area, and the line of least squares",
        "Precio según el área y la recta de mínimos cuadrados",
        descent.line,
        draw_descent.draw_houses,
    ),
    Figure(
        "003-step",
        "Batch descent with four rates α",
        "Descenso por lotes con cuatro tasas de aprendizaje α",
        descent.step_sizes,
        draw_descent.draw_steps,
    ),
    Figure(
        "003-normalization",
        "Descent on raw and on normalized data",
        "Descenso con datos sin normalizar y normalizados",
        descent.normalization,
        draw_descent.draw_normalization,
    ),
    Figure(
        "003-stochastic",
        "Batch, stochastic and mini-batch descent",
        "Descenso por lotes, estocástico y por mini-lotes",
        descent.batches,
        draw_descent.draw_batches,
    ),
)

GENERALIZATION = (
    Figure(
        "004-objective",
        "The balance of loss and penalty",
        "El balance entre pérdida y regularización",
        generalization.balance,
        draw_generalization.draw_balance,
    ),
    Figure(
        "004-lambda-0.1",
        "λ = 0.1: every example on its side",
        "λ = 0.1: todos los ejemplos en el lado correcto",
        generalization.lam_small,
        draw_linear.draw_series,
    ),
    Figure(
        "004-lambda-100",
        "λ = 100: the margins let some examples in",
        "λ = 100: los márgenes dejan dentro algunos ejemplos",
        generalization.lam_medium,
        draw_linear.draw_series,
    ),
    Figure(
        "004-lambda-1000",
        "λ = 1000: many more points influence the solution",
        "λ = 1000: influyen muchos más puntos, no solo los más cercanos",
        generalization.lam_large,
        draw_linear.draw_series,
    ),
    Figure(
        "004-loss",
        "Training and test loss against c",
        "Pérdida de entrenamiento y de prueba en función de c",
        generalization.losses,
        draw_generalization.draw_losses,
    ),
    Figure(
        "004-fitting",
        "Underfitting and overfitting, and ĉ by validation",
        "Subajuste y sobreajuste, y ĉ por validación",
        generalization.losses,
        draw_generalization.draw_regimes,
    ),
    Figure(
        "004-slope",
        "Gradient descent with one parameter",
        "Gradiente descendente con un parámetro",
        generalization.slope,
        draw_generalization.draw_slope,
    ),
    Figure(
        "004-surface",
        "Gradient descent with two parameters, and stochastic descent",
        "Gradiente descendente con dos parámetros, y el estocástico",
        generalization.surface,
        draw_generalization.draw_surface,
    ),
)

# What the documents state and prove without a picture: the algorithms and theorems themselves.
PROMISES = (
    Figure(
        "000-perceptron",
        "Theorem 3.1: mistakes that the perceptron makes, and may make",
        "Teorema 3.1: errores que el perceptrón comete y puede cometer",
        promises.mistakes,
        draw_promises.draw_mistakes,
    ),
    Figure(
        "000-averaged",
        "The last θ and the mean of all, on classes that overlap",
        "El último θ y el promedio de todos, con clases que se superponen",
        promises.averages,
        draw_boosting.draw_averages,
    ),
    Figure(
        "000-pegasos",
        "PEGASOS: how far J is above its minimum",
        "PEGASOS: cuánto excede J a su mínimo",
        promises.subgradient,
        draw_promises.draw_descents,
    ),
    Figure(
        "000-ridge",
        "Ridge regression: training and test error against λ",
        "Regresión de cresta: errores de entrenamiento y de prueba según λ",
        promises.ridge,
        draw_promises.draw_risks,
    ),
    Figure(
        "001-adaboost",
        "Theorem 1.1.5: AdaBoost's training error, and the J(F) above it",
        "Teorema 1.1.5: el error de entrenamiento de AdaBoost bajo J(F)",
        promises.surrogate,
        draw_promises.draw_surrogate,
    ),
    Figure(
        "001-anyboost",
        "AnyBoost, its convex form, and AdaBoost: the cost H(F) by round",
        "AnyBoost, su versión convexa y AdaBoost: el costo H(F) por ronda",
        promises.abstract,
        draw_promises.draw_rounds,
    ),
    Figure(
        "001-ls-boost",
        "Theorem 2.1.2: LS-Boost(0.3) converges linearly",
        "Teorema 2.1.2: LS-Boost(0.3) converge linealmente",
        promises.ls_boost_bound,
        draw_promises.draw_linear,
    ),
    Figure(
        "001-fs",
        "Theorem 2.2.1: FS₁ converges sublinearly",
        "Teorema 2.2.1: FS₁ converge sublinealmente",
        promises.forward_bound,
        draw_promises.draw_sublinear,
    ),
    Figure(
        "001-r-fs",
        "Theorem 2.2.3: R-FS₁ with δ = 200 converges to the Lasso",
        "Teorema 2.2.3: R-FS₁ con δ = 200 converge a Lasso",
        promises.regularized_bound,
        draw_promises.draw_sublinear,
    ),
    Figure(
        "002-smo",
        "SMO and kernelized PEGASOS: how far J is above its minimum",
        "SMO y PEGASOS kernelizado: cuánto excede J a su mínimo",
        promises.kernelized,
        draw_promises.draw_descents,
    ),
)

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for group in (LECTURE_NOTES, BOOSTING, STAGEWISE, KERNELS, DESCENT, GENERALIZATION, PROMISES)
    for figure in group
}
