"""The words of a report in Spanish."""

from __future__ import annotations

SPANISH: dict[str, str] = {
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
    "optimization_only": (
        "Que el modelo acierte con filas nuevas. El certificado habla de las filas de "
        "entrenamiento y de esta clase de modelos; las filas apartadas son la evidencia sobre "
        "las nuevas."
    ),
    "against the rest": "contra el resto",
    "against": "contra",
    "details": "Todos los números, y dónde está el teorema (en inglés)",
    "gap_words": (
        "El mejor modelo de esta clase tiene un objetivo entre {lower} y {upper} en estas "
        "filas; este tiene {upper}. Ninguna otra elección de sus parámetros lo mejora en más "
        "de {gap}."
    ),
    "gap_percent": "Es un {percent} de su objetivo, la brecha relativa.",
    "mistakes_words": (
        "El entrenamiento cometió {lower} errores, y el teorema no permite más de {upper}."
    ),
    "training error_words": (
        "El modelo falla en una proporción {lower} de las filas de entrenamiento, y el "
        "teorema no permite más de {upper}."
    ),
    "stagewise_words": (
        "El error de entrenamiento está como mucho {lower} por encima del mejor, y el teorema, "
        "salvo que su cota quede abierta, admite {upper}."
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
    "bound_tried": ("La cota tiene en cuenta que se compararon {tried} modelos sobre estas filas."),
    "bound_none": (
        "No hay cota para esta medida: un solo error grande entre las filas nuevas podría "
        "superar cualquier número calculado con estas."
    ),
    "held_out_words": "Se apartaron {rows} filas antes del entrenamiento.",
    "no_held_out": (
        "No se apartó ninguna fila, así que nada dice aquí cómo le va al modelo con filas nuevas."
    ),
    "every_column": "Cada columna",
    "some_warnings": "Advertencias sobre los datos: {count}, más abajo.",
    "error": "proporción de predicciones erradas",
    "rmse": "raíz del error cuadrático medio",
    "r2": "R²",
    "number": "número",
    "boolean": "verdadero o falso",
    "category": "categoría",
    "other": "otro",
    "mean": "de {smallest} a {largest}, media {mean}",
    "most_frequent": "{distinct} valores, el más frecuente {value}",
    "distinct": "{distinct} valores",
    "matrix": "Una matriz de {columns} columnas sin nombre.",
    "standardized": "Números, menos su media y divididos entre su desviación: {count}.",
    "one_hot": "Categorías, con una columna de ceros y unos para cada valor: {count}.",
    "indicated": (
        "Los números que faltan pasan a ser la media, con una columna que los marca: {names}."
    ),
    "dropped": "Se dejan fuera: {names}.",
    "as_given": "Los números se usan tal como están.",
    "support": "vectores de soporte",
    "seconds": "tiempo de entrenamiento [s]",
    "interrupted": (
        "El entrenamiento terminó antes de su meta. El certificado habla del modelo tal como está."
    ),
    "model_column": "modelo",
    "time_column": "segundos",
    "gap_column": "brecha relativa",
    "proof_column": "certificado",
    "training_error": "error en el entrenamiento",
    "validation_error": "error en las filas apartadas",
    "note": "nota",
    "per_unit": "por unidad",
    "bars": (
        "El número es cuánto cambia la salida por una unidad de la columna. La barra lo es por "
        "una desviación típica, y en una categoría por su presencia, de modo que las barras se "
        "pueden comparar."
    ),
    "margins_title": "Márgenes",
    "margins_caption": "Por debajo de cero la predicción es errada.",
    "margin_asked": " La línea a trazos en 1 es el margen que pide el entrenamiento.",
    "margin": "margen: puntuación de la clase verdadera frente a las demás",
    "row_count": "proporción de las filas",
    "training": "filas de entrenamiento",
    "kept_apart": "filas apartadas",
    "curve_title": "Pérdida según c = 1/(λn)",
    "curve_caption": (
        "A la izquierda del mejor c el modelo es demasiado simple; a la derecha sigue "
        "demasiado de cerca las filas de entrenamiento."
    ),
    "trace_title": "La demostración mientras corría el entrenamiento",
    "trace_caption": "La brecha relativa que se demostró, según el tiempo.",
    "trace_time": "segundos",
    "trace_gap": "brecha relativa",
    "fit_title": "Lo predicho y lo verdadero",
    "fit_caption": "Sobre la línea la predicción es exacta.",
    "true_value": "valor verdadero",
    "predicted_value": "valor predicho",
    "remark_few rows": "Con tan pocas filas se entrena con todas y no se aparta ninguna.",
    "remark_constant": "La columna «{column}» nunca cambia; se deja fuera.",
    "remark_missing": "La columna «{column}» falta en el {share} de las filas.",
    "remark_identifier": (
        "La columna «{column}» tiene otro número entero en cada fila, como un identificador: "
        "conviene dejarla fuera si no significa nada."
    ),
    "remark_leak": (
        "La columna «{column}» delata por sí sola la respuesta. Si solo se conoce después, hay "
        "que dejarla fuera: el modelo no serviría."
    ),
    "remark_unbalanced": (
        "La clase «{label}» tiene {count} de {rows} filas. El error es pequeño aunque el "
        "modelo no la encuentre nunca: conviene mirar cada clase por separado."
    ),
    "remark_duplicates": (
        "{shared} de las {rows} filas apartadas están también entre las de entrenamiento; el "
        "error en ellas dice menos sobre filas nuevas."
    ),
    "more": "y {count} más",
    "alone": "Este archivo está completo: no carga nada de la red.",
}
