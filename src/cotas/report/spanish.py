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
    "command": "comando",
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
        "entrenamiento y de este tipo de modelos; las filas reservadas son la evidencia sobre "
        "las nuevas."
    ),
    "against the rest": "contra el resto",
    "against": "contra",
    "details": "Todos los números, y dónde está el teorema (en inglés)",
    "gap_words": (
        "El mejor modelo de este tipo tiene un objetivo entre {lower} y {upper} en estas "
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
    "held_out_words": "Se reservaron {rows} filas antes del entrenamiento.",
    "no_held_out": (
        "No se reservó ninguna fila, así que nada dice aquí cómo le va al modelo con filas nuevas."
    ),
    "every_column": "Cada columna",
    "some_warnings": "Advertencias sobre los datos: {count}, más abajo.",
    "error": "proporción de predicciones equivocadas",
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
    "validation_error": "error en las filas reservadas",
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
    "kept_apart": "filas reservadas",
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
    "remark_few rows": "Con tan pocas filas se entrena con todas y no se reserva ninguna.",
    "remark_constant": "La columna «{column}» nunca cambia; se deja fuera.",
    "remark_missing": "La columna «{column}» falta en el {share} de las filas.",
    "remark_identifier": (
        "La columna «{column}» se deja fuera: otro número entero en cada fila, como un "
        "identificador (--keep la usa)."
    ),
    "remark_leak": (
        "La columna «{column}» delata por sí sola la respuesta. Si solo se conoce después, hay "
        "que dejarla fuera: el modelo no serviría."
    ),
    "remark_unbalanced": (
        "La clase «{label}» tiene {count} de {rows} filas. El error es pequeño aunque el "
        "modelo no la encuentre nunca: conviene mirar cada clase por separado, o poner "
        "class_weight='balanced'."
    ),
    "remark_duplicates": (
        "{count} filas aparecen más de una vez; las copias quedan a un solo lado de la división."
    ),
    "more": "y {count} más",
    "alone": "Este archivo está completo: no carga nada de la red.",
    "always": "siempre «{answer}»",
    "the_most_frequent": "la referencia: la clase más frecuente",
    "the_mean": "la referencia: la media",
    "balanced accuracy": "exactitud equilibrada",
    "ROC AUC": "área bajo la curva ROC",
    "average precision": "precisión media",
    "RMSE": "raíz del error cuadrático medio",
    "MAE": "error absoluto medio",
    "R²": "R²",
    "of_class": "clase «{label}»",
    "interval": "{confidence:.4g} %: de {low} a {high}",
    "short_interval": "{low}–{high}",
    "no_interval": "muy pocas filas para un intervalo",
    "taken_for": "como {label}",
    "recall": "exhaustividad",
    "precision": "precisión",
    "alarm_constant": "Este modelo da la misma respuesta en todas las filas: {answer}.",
    "alarm_no better_classes": (
        "Este modelo no es mejor que responder siempre «{answer}»: su error es {own}, y el de "
        "esa respuesta {error}."
    ),
    "alarm_unclear_classes": (
        "No está claro que este modelo sea mejor que responder siempre «{answer}»: su error es "
        "{own}, y el de esa respuesta {error}; puede ser azar."
    ),
    "alarm_no better_numbers": (
        "Este modelo no es mejor que responder siempre {answer}, la media: la raíz de su error "
        "cuadrático medio es {own}, y la de esa respuesta {error}."
    ),
    "alarm_unclear_numbers": (
        "No está claro que este modelo sea mejor que responder siempre {answer}, la media: la "
        "raíz de su error cuadrático medio es {own}, y la de esa respuesta {error}; puede ser "
        "azar."
    ),
    "alarm_silent": "Este modelo nunca responde {labels}, aunque {rows} de estas filas son así.",
    "alarm": "ATENCIÓN",
    "roc_title": "Curva ROC",
    "roc_caption": (
        "Cuántas filas de una clase se encuentran y cuántas de las demás se toman por ella, "
        "para cada umbral. La diagonal es adivinar."
    ),
    "found_rate": "proporción encontrada",
    "false_rate": "proporción de las demás que se toma por ella",
    "residuals_title": "Residuos",
    "residuals_caption": (
        "Lo que le falta a la predicción, según la predicción. Un patrón es algo que el modelo "
        "no ha aprendido."
    ),
    "residual": "verdadero menos predicho",
    "summary_what": (
        "Predice «{target}» ({task}) con {columns} columnas de {rows} filas, mediante {model}."
    ),
    "summary_error": (
        "En las {rows} filas reservadas, la medida «{measure}» es {value} ({interval}); "
        "responder siempre «{answer}» da {baseline}."
    ),
    "summary_proof": "La demostración: {standing}.",
    "summary_matters": "Lo que más pesa: {names}.",
    "confusion": "Por qué clase se tomaron las filas de cada clase",
    "all_certificates": "Cada certificado por separado",
    "of_them": "{count} de ellos",
    "objective": "objetivo",
    "best_at_least": "el mejor, al menos",
    "below_the_gap": (
        "{count} más que no se distinguen de 0: son menores que lo que la brecha deja abierto."
    ),
    "remark_target": "No se nombró el objetivo: se predice «{column}».",
    "remark_renamed": "Otra columna se llama «{name}»; esta es aquí «{column}».",
    "remark_cells": (
        "Columna «{column}»: {count} celdas que no son números se toman como ausentes ({cells})."
    ),
    "remark_mixed": (
        "La columna «{column}» tiene números y palabras ({cells}): se toma como categorías."
    ),
    "remark_without target": (
        "El objetivo «{column}» falta en {count} de {rows} filas, la primera la {row}; se dejan "
        "fuera."
    ),
    "remark_rare values": (
        "La columna «{column}» se omite: tiene muchos valores y ninguno es frecuente."
    ),
    "remark_text": (
        "La columna «{column}» se deja fuera: {distinct} textos distintos en {rows} filas, "
        "nombres o texto libre (--keep la usa)."
    ),
    "remark_other": (
        "La columna «{column}» se deja fuera: contiene {type}, que ningún modelo de aquí puede "
        "usar."
    ),
    "remark_day first": (
        "Columna «{column}»: nada distingue el día del mes en fechas como «{cell}»; se toma el "
        "día primero."
    ),
    "remark_month first": (
        "Columna «{column}»: nada distingue el día del mes en fechas como «{cell}»; se toma el "
        "mes primero."
    ),
    "remark_more": "Lo mismo vale para {count} columnas más: {some}",
    "remark_sorted": (
        "La columna «{column}» sube o baja de fila en fila, con otro número entero en cada una: "
        "conviene dejarla fuera si es un identificador."
    ),
    "remark_group": (
        "Las filas con el mismo valor en «{column}» quedan a un solo lado de la división; la "
        "columna se deja fuera."
    ),
    "remark_twins": (
        "{count} de las {rows} filas tienen una gemela: hay {different} distintas, y las filas "
        "reservadas son como las de entrenamiento."
    ),
}
