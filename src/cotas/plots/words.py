"""The words of the pictures, in English and in Spanish: one table for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# key: (English, Spanish). Formulas, units and names that the user gives are not words.
WORDS: dict[str, tuple[str, str]] = {
    # ---- classifiers in the plane
    "boundary": ("decision boundary", "frontera de decisión"),
    "margins": ("margins ±1", "márgenes ±1"),
    "support vectors": ("support vectors", "vectores de soporte"),
    "violations": ("margin violated", "margen violado"),
    "class": ("class {label}", "clase {label}"),
    "sweep": ("λ = {lam:.3g}: margin {width:.3g}", "λ = {lam:.3g}: margen {width:.3g}"),
    "sweep title": ("What λ does to the margin", "Lo que λ le hace al margen"),
    # ---- choosing
    "c": ("c = 1/(λn)", "c = 1/(λn)"),
    "lam": ("λ", "λ"),
    "loss": ("loss", "pérdida"),
    "error": ("error", "error"),
    "training": ("training", "entrenamiento"),
    "validation": ("validation", "validación"),
    "best c": ("ĉ = {value:.3g}", "ĉ = {value:.3g}"),
    "best lam": ("best: λ = {value:.3g}", "mejor: λ = {value:.3g}"),
    "underfitting": ("underfitting", "subajuste"),
    "overfitting": ("overfitting", "sobreajuste"),
    "loss against c": ("Training and validation over c", "Entrenamiento y validación según c"),
    "lower bound": ("proved: none is below", "demostrado: ninguno es menor"),
    "path errors": ("Validation error along λ", "Error de validación a lo largo de λ"),
    "path coefficients": ("Coefficients along λ", "Coeficientes a lo largo de λ"),
    "examples": ("training examples", "ejemplos de entrenamiento"),
    "learning curve": ("Learning curve", "Curva de aprendizaje"),
    "complexity": ("complexity of the model", "complejidad del modelo"),
    "bias": ("bias²", "sesgo²"),
    "variance": ("variance", "varianza"),
    "noise": ("noise", "ruido"),
    "total": ("total error", "error total"),
    "least": ("least: {value:.3g}", "mínimo: {value:.3g}"),
    "bias variance": ("Bias and variance", "Sesgo y varianza"),
    # ---- descent
    "iteration": ("iteration", "iteración"),
    "objective": ("objective J", "objetivo J"),
    "excess": ("J − best that is possible", "J − mejor posible"),
    "rate": ("bound of the rate", "cota de la tasa"),
    "convergence": ("Convergence", "Convergencia"),
    # ---- paths of coefficients
    "coefficient": ("coefficient", "coeficiente"),
    "unit coefficient": (
        "coefficient (unit columns)",
        "coeficiente (columnas unitarias)",
    ),
    "norm": ("‖β‖₁", "‖β‖₁"),
    "optimum": ("optimum", "óptimo"),
    "coefficient path": ("Coefficients of {name}", "Coeficientes de {name}"),
    "feature": ("feature {number}", "característica {number}"),
    # ---- boosting
    "round": ("round", "ronda"),
    "training error": ("training error", "error de entrenamiento"),
    "validation error": ("validation error", "error de validación"),
    "proved bound": ("proved bound", "cota demostrada"),
    "boosting stages": ("{name}, round by round", "{name}, ronda a ronda"),
    "margin": ("margin", "margen"),
    "voting margin": ("margin y·F(x) / Σ|c|", "margen y·F(x) / Σ|c|"),
    "distance": ("margin y(θ·x + θ₀) / ‖θ‖", "margen y(θ·x + θ₀) / ‖θ‖"),
    "score margin": ("margin y·f(x)", "margen y·f(x)"),
    "rival margin": (
        "score of the own class − best of the others",
        "puntuación de la clase propia − mejor de las otras",
    ),
    "share": ("share of the examples", "proporción de los ejemplos"),
    "margin distribution": ("Distribution of the margins", "Distribución de los márgenes"),
    "importance": ("importance", "importancia"),
    "feature importances": ("Importance of the features", "Importancia de las características"),
    # ---- proofs
    "seconds": ("seconds", "segundos"),
    "gap": ("relative gap proved", "brecha relativa demostrada"),
    "best so far": ("best so far", "mejor hasta ahora"),
    "gap trace": ("The gap while it runs", "La brecha durante el ajuste"),
    "measured": ("measured", "medido"),
    "allowed": ("allowed by the theorem", "permitido por el teorema"),
    "theorem": ("Theorem and run: {item}", "Teorema y corrida: {item}"),
    "item training error": (
        "training error above the best",
        "error de entrenamiento sobre el mejor",
    ),
    "item coefficients": ("distance of the coefficients", "distancia de los coeficientes"),
    "item predictions": ("distance of the predictions", "distancia de las predicciones"),
    "item gradient": ("gradient", "gradiente"),
    "item correlation": ("correlation with the residual", "correlación con el residuo"),
    "item length of the coefficients": ("‖β‖₁", "‖β‖₁"),
    "item coefficients that are not zero": (
        "coefficients that are not zero",
        "coeficientes distintos de cero",
    ),
    # ---- kernels
    "gram": ("Gram matrix of {name}", "Matriz de Gram de {name}"),
    "rows by class": ("rows, class by class", "filas, clase por clase"),
    "kernel value": ("k(x, x′)", "k(x, x′)"),
}

LANGUAGES = ("en", "es")

Say = Callable[..., str]

_current: ContextVar[str] = ContextVar("language of the pictures", default="en")


def check_language(lang: str) -> str:
    """The language, or an error that names those there are."""
    if lang not in LANGUAGES:
        raise ValueError(f"lang must be 'en' (English) or 'es' (Spanish), not {lang!r}.")
    return lang


@contextmanager
def language(lang: str) -> Iterator[None]:
    """Every picture drawn inside is in this language, unless it is told otherwise.

    Parameters
    ----------
    lang : "en" or "es"

    Examples
    --------
    >>> from cotas import plots
    >>> with plots.language("es"):
    ...     pass  # plots.convergence(model), …
    """
    token = _current.set(check_language(lang))
    try:
        yield
    finally:
        _current.reset(token)


def speak(lang: str | None = None) -> Say:
    """A function from a key of the table to its words.

    >>> speak("es")("best lam", value=0.25)
    'mejor: λ = 0.25'
    """
    column = LANGUAGES.index(check_language(_current.get() if lang is None else lang))

    def say(key: str, **values: object) -> str:
        return WORDS[key][column].format(**values)

    return say
