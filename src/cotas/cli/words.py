"""The headings of the command line, in English and in Spanish."""

from __future__ import annotations

from collections.abc import Callable

from cotas.cli.exits import UsageError

WORDS = {
    "data": ("data", "datos"),
    "rows": (
        "{rows} rows, {columns} columns, target {target}",
        "{rows} filas, {columns} columnas, objetivo {target}",
    ),
    "one column": (
        "{rows} rows, 1 column, target {target}",
        "{rows} filas, 1 columna, objetivo {target}",
    ),
    "model": ("model", "modelo"),
    "defaults": ("defaults", "valores por defecto"),
    "trained": ("trained on", "entrenado con"),
    "seconds": ("{rows} rows in {seconds:.2g} s", "{rows} filas en {seconds:.2g} s"),
    "chosen": ("chosen", "elegido"),
    "training error": ("training error", "error de entrenamiento"),
    "held-out error": ("held-out error", "error en datos reservados"),
    "rms": (
        "{rms:.4g} (root mean square), R² = {r2:.4f}",
        "{rms:.4g} (raíz del cuadrado medio), R² = {r2:.4f}",
    ),
    "share": ("{share:.4f} ({wrong} of {rows} rows)", "{share:.4f} ({wrong} de {rows} filas)"),
    "future": ("error on future rows", "error en filas futuras"),
    "at most": (
        "at most {bound:.4f} with {confidence:.0f}% confidence",
        "a lo sumo {bound:.4f} con confianza del {confidence:.0f}%",
    ),
    "groups": (
        "rows that belong together count once: {count}",
        "las filas que van juntas cuentan una vez: {count}",
    ),
    "validation error": ("validation error", "error de validación"),
    "leaderboard": (
        "The best of {tried} trials, judged by a part of the training rows:",
        "Los mejores de {tried} ensayos, juzgados con una parte de las filas de entrenamiento:",
    ),
    "trial": (
        "{name}: {rows} rows, validation error {error:.4g}, {seconds:.2g} s",
        "{name}: {rows} filas, error de validación {error:.4g}, {seconds:.2g} s",
    ),
    "saved": ("saved", "guardado"),
    "report": ("report", "informe"),
    "proved": ("proved", "demostrado"),
    "gap": (
        "the best objective is at most {gap} lower than this one (asked: {asked})",
        "el mejor objetivo es a lo sumo un {gap} menor que este (pedido: {asked})",
    ),
    "holds": ("the {kind} certificate holds", "el certificado «{kind}» se cumple"),
    "vacuous": (
        "the {kind} certificate holds, but says nothing here",
        "el certificado «{kind}» se cumple, pero aquí no dice nada",
    ),
    "fails": (
        "the {kind} certificate DOES NOT HOLD: {why}",
        "el certificado «{kind}» NO SE CUMPLE: {why}",
    ),
    "note": ("Note", "Nota"),
    "warning": ("Warning", "Advertencia"),
    "none": ("nothing: {why}", "nada: {why}"),
    "picture": ("picture", "gráfico"),
    "predicted": ("{rows} rows predicted: {out}", "{rows} filas predichas: {out}"),
    "certified": (
        "Certified: {count} of {rows} predictions.",
        "Certificadas: {count} de {rows} predicciones.",
    ),
    "wrong": (
        "The table has the target: wrong predictions {error:.4f}.",
        "La tabla tiene el objetivo: predicciones equivocadas {error:.4f}.",
    ),
    "square": (
        "The table has the target: root mean square error {error:.4f}.",
        "La tabla tiene el objetivo: raíz del error cuadrático medio {error:.4f}.",
    ),
    "seen": (
        "{count} of these {rows} rows were trained on: their error says little about new ones.",
        "{count} de estas {rows} filas son de entrenamiento: su error dice poco de las nuevas.",
    ),
    "disagrees": ("What was stored does not agree:", "Lo guardado no concuerda:"),
    "is proved": ("Proved.", "Demostrado."),
    "not proved": ("NOT PROVED.", "NO DEMOSTRADO."),
    "separable": ("separable: {answer}", "separables: {answer}"),
    "yes": ("yes", "sí"),
    "no": ("no", "no"),
    "column": ("column", "columna"),
    "coefficient": ("coefficient", "coeficiente"),
    "per deviation": ("per deviation", "por desviación"),
    "importance": ("importance", "importancia"),
    "and more": (
        "… and {count} more (--top 0 shows all)",
        "… y {count} más (--top 0 los muestra todos)",
    ),
    "not told": (
        "{count} more are not told from 0: the gap leaves ±{doubt:.1g} open.",
        "{count} más no se distinguen de 0: la brecha deja abierto ±{doubt:.1g}.",
    ),
    "class": ("class {label} against the rest", "clase {label} contra el resto"),
    "class itself": ("class", "clase"),
    "input": ("its input X: {what}: {names}", "su entrada X: {what}: {names}"),
    "relative gap": ("relative gap", "brecha relativa"),
    "columns in use": ("columns in use", "columnas en uso"),
    "seconds column": ("seconds", "segundos"),
    "training column": ("training {kind}", "{kind} de entrenamiento"),
    "held-out column": ("held-out {kind}", "{kind} en datos reservados"),
    "future column": ("at most, on future rows", "a lo sumo, en filas futuras"),
    "error": ("error", "error"),
    "rms error": ("rms error", "error cuadrático"),
    "fact predicts": ("predicts", "predice"),
    "fact classes": ("classes", "clases"),
    "fact of rows": ("{count} of {rows} rows", "{count} de {rows} filas"),
    "fact margin_width_": ("width of the margin", "anchura del margen"),
    "fact n_support_": ("support vectors", "vectores de soporte"),
    "fact leave_one_out_bound_": (
        "leave-one-out error at most",
        "error dejando una fuera, a lo sumo",
    ),
    "fact n_rounds_": ("rounds", "rondas"),
    "fact solver_": ("solver", "algoritmo"),
    "fact left out": ("left out", "se dejan fuera"),
    "fact made by": ("made by", "hecho con"),
    "fact note": ("note {k}", "nota {k}"),
    "classification": ("classification", "clasificación"),
    "regression": ("regression", "regresión"),
}


KINDS_IN_SPANISH = {
    "duality": "dualidad",
    "gradient": "gradiente",
    "mistakes": "número de errores",
    "training error": "error de entrenamiento",
    "stagewise": "avance por etapas",
    "stationary": "punto estacionario",
    "separation": "separación",
}


def kind_in(lang: str, kind: str) -> str:
    """What a kind of certificate is called."""
    return KINDS_IN_SPANISH.get(kind, kind) if lang == "es" else kind


def speak(lang: str) -> Callable[..., str]:
    """A function from a key and its values to words in this language."""
    if lang not in ("en", "es"):
        raise UsageError(f"--lang is en or es, not {lang!r}.")

    def say(key: str, **values: object) -> str:
        return WORDS[key][lang == "es"].format(**values)

    return say
