"""The words of a report, in English and in Spanish."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "title": "Report on a model of {source}",
        "summary": "In short",
        "data": "The data",
        "warnings": "What to look at in the data",
        "no_warnings": (
            "No constant column, no column that gives the answer away, no row on both sides of "
            "the split, no class that is rare."
        ),
        "model": "The model",
        "certificate": "The certificate",
        "held_out": "On rows that the model has not seen",
        "coefficients": "Coefficients, in the units of the columns",
        "importances": "Importance of each column",
        "compared": "The models compared",
        "pictures": "Pictures",
        "reproduce": "How to get this model again",
        "rows": "rows",
        "columns": "columns",
        "target": "target",
        "task": "task",
        "classification": "classification",
        "regression": "regression",
        "column": "column",
        "kind": "kind",
        "missing": "missing",
        "values": "values",
        "class": "class",
        "share": "share",
        "parameter": "parameter",
        "value": "value",
        "preparation": "How the columns are prepared (part of the model)",
        "command": "command",
        "seed": "seed",
        "versions": "versions",
        "true": "true class",
        "predicted": "predicted class",
        "count": "rows",
        "holds": "proved",
        "fails": "not proved",
        "vacuous": "true, but says nothing",
        "none": "no bound",
        "proves": "What it proves",
        "does_not_prove": "What it does not prove",
        "optimisation_only": (
            "That the model is right about new rows. The certificate is about the training rows "
            "and this kind of model; the rows kept apart are the evidence about new ones."
        ),
        "details": "All the numbers, and where the theorem stands",
        "gap_words": (
            "The best model of this kind has an objective between {lower} and {upper} on these "
            "rows; this one has {upper}. So no other choice of its parameters is better by more "
            "than {gap}."
        ),
        "gap_percent": "That is at most {percent} % of the best.",
        "gap_rounding": (
            "The two are equal up to the rounding of the arithmetic: the model is the best one, "
            "as far as numbers of this precision can tell."
        ),
        "mistakes_words": (
            "Training made {lower} mistakes, and the theorem allows no more than {upper}."
        ),
        "training error_words": (
            "The model is wrong on {lower} of the training rows (as a share), and the theorem "
            "allows no more than {upper}."
        ),
        "stagewise_words": (
            "The training error is {lower} above the best one, and the theorem allows no more "
            "than {upper}."
        ),
        "stationary_words": (
            "The conditions that hold at the best model are missed by {upper}; zero would be exact."
        ),
        "separation_words": (
            "A plane separates the classes with a margin of {lower}, and no plane has a margin "
            "above {upper}."
        ),
        "none_words": "This algorithm has no bound that holds for these data: {statement}",
        "bound_words": (
            "With a confidence of {confidence} %, the error on new rows that come like these is "
            "at most {bound}."
        ),
        "bound_tried": (
            "The bound takes into account that {tried} models were compared on these rows."
        ),
        "bound_none": (
            "There is no bound for this measure: one large error among the new rows could exceed "
            "any number computed from these."
        ),
        "held_out_words": "{rows} rows were kept apart before the training.",
        "no_held_out": (
            "No rows were kept apart, so nothing here says how the model does on new ones."
        ),
        "every_column": "Every column",
        "some_warnings": "Warnings about the data: {count}, below.",
        "more": "and {count} more",
        "alone": "This file is complete in itself: it loads nothing from the network.",
    },
    "es": {
        "title": "Informe sobre un modelo de {source}",
        "summary": "En resumen",
        "data": "Los datos",
        "warnings": "Qué mirar en los datos",
        "no_warnings": (
            "Ninguna columna constante, ninguna que delate la respuesta, ninguna fila a ambos "
            "lados de la división, ninguna clase escasa."
        ),
        "model": "El modelo",
        "certificate": "El certificado",
        "held_out": "Sobre filas que el modelo no ha visto",
        "coefficients": "Coeficientes, en las unidades de las columnas",
        "importances": "Importancia de cada columna",
        "compared": "Los modelos comparados",
        "pictures": "Gráficos",
        "reproduce": "Cómo obtener este modelo otra vez",
        "rows": "filas",
        "columns": "columnas",
        "target": "objetivo",
        "task": "tarea",
        "classification": "clasificación",
        "regression": "regresión",
        "column": "columna",
        "kind": "tipo",
        "missing": "faltan",
        "values": "valores",
        "class": "clase",
        "share": "proporción",
        "parameter": "parámetro",
        "value": "valor",
        "preparation": "Cómo se preparan las columnas (es parte del modelo)",
        "command": "orden",
        "seed": "semilla",
        "versions": "versiones",
        "true": "clase verdadera",
        "predicted": "clase predicha",
        "count": "filas",
        "holds": "demostrado",
        "fails": "no demostrado",
        "vacuous": "cierto, pero no dice nada",
        "none": "sin cota",
        "proves": "Qué demuestra",
        "does_not_prove": "Qué no demuestra",
        "optimisation_only": (
            "Que el modelo acierte con filas nuevas. El certificado habla de las filas de "
            "entrenamiento y de esta clase de modelos; las filas apartadas son la evidencia sobre "
            "las nuevas."
        ),
        "details": "Todos los números, y dónde está el teorema",
        "gap_words": (
            "El mejor modelo de esta clase tiene un objetivo entre {lower} y {upper} en estas "
            "filas; este tiene {upper}. Ninguna otra elección de sus parámetros lo mejora en más "
            "de {gap}."
        ),
        "gap_percent": "Es a lo sumo un {percent} % del mejor.",
        "gap_rounding": (
            "Los dos son iguales salvo el redondeo de la aritmética: el modelo es el mejor, hasta "
            "donde lo distinguen números de esta precisión."
        ),
        "mistakes_words": (
            "El entrenamiento cometió {lower} errores, y el teorema no permite más de {upper}."
        ),
        "training error_words": (
            "El modelo falla en una proporción {lower} de las filas de entrenamiento, y el "
            "teorema no permite más de {upper}."
        ),
        "stagewise_words": (
            "El error de entrenamiento está {lower} por encima del mejor, y el teorema no permite "
            "más de {upper}."
        ),
        "stationary_words": (
            "Las condiciones que cumple el mejor modelo se incumplen en {upper}; cero sería exacto."
        ),
        "separation_words": (
            "Un plano separa las clases con un margen de {lower}, y ningún plano tiene un margen "
            "mayor que {upper}."
        ),
        "none_words": "Este algoritmo no tiene una cota que valga para estos datos: {statement}",
        "bound_words": (
            "Con una confianza del {confidence} %, el error en filas nuevas que lleguen como "
            "estas es a lo sumo {bound}."
        ),
        "bound_tried": (
            "La cota tiene en cuenta que se compararon {tried} modelos sobre estas filas."
        ),
        "bound_none": (
            "No hay cota para esta medida: un solo error grande entre las filas nuevas podría "
            "superar cualquier número calculado con estas."
        ),
        "held_out_words": "Se apartaron {rows} filas antes del entrenamiento.",
        "no_held_out": (
            "No se apartó ninguna fila, así que nada dice aquí cómo le va al modelo con filas "
            "nuevas."
        ),
        "every_column": "Cada columna",
        "some_warnings": "Advertencias sobre los datos: {count}, más abajo.",
        "more": "y {count} más",
        "alone": "Este archivo está completo: no carga nada de la red.",
    },
}
LANGUAGES = tuple(WORDS)


def words_of(lang: str) -> Mapping[str, str]:
    """The words of one language; the error names those there are."""
    if lang not in WORDS:
        raise ValueError(f"lang must be one of {', '.join(LANGUAGES)}; got {lang!r}.")
    return WORDS[lang]
