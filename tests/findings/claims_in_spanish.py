"""The sentences of docs/claims.es.md: of each claim what it says, what is found and the remark."""

VERDICTS = {
    "agrees": "coincide",
    "differs": "difiere",
    "depends on the seed": "depende de la semilla",
}
PLACES = {
    "section": "sección",
    "Theorem": "teorema",
    "Corollary": "corolario",
    "batch gradient descent": "gradiente descendente por lotes",
    "stochastic gradient descent": "gradiente descendente estocástico",
    "gradient descent": "gradiente descendente",
    "realizable case": "caso realizable",
}


def place(where: str) -> str:
    """Where a claim stands, in Spanish."""
    english = next(words for words in PLACES if where.startswith(words))
    return where.replace(english, PLACES[english])


SAID = {
    "more_examples": (
        "más ejemplos: el error de entrenamiento refleja mejor el de validación",
        "diferencia entre los dos: {0} puntos con 20 ejemplos, {1} con 2000",
        "",
    ),
    "one_classifier": (
        "un $H$ con un solo clasificador no tiene brecha; elegir por el error de entrenamiento "
        "la abre",
        "brecha de un clasificador fijado de antemano {0} puntos, del mejor de 1000 {1}",
        "Con 50 ejemplos, el error de un clasificador fijo se desvía por sí mismo algunos puntos, "
        "en un sentido o en otro; en promedio la brecha del elegido es mayor.",
    ),
    "averaged_perceptron": (
        "el perceptrón medio es razonable donde ningún plano separa los datos",
        "exactitud en datos nuevos: último vector {0}%, media {1}%",
        "",
    ),
    "averaged_passive_aggressive": (
        "la media es también una versión mejor del algoritmo pasivo-agresivo",
        "exactitud en datos nuevos: último vector {0}%, media {1}%",
        "",
    ),
    "passive_norms": (
        r"$\lVert\theta\rVert$ crece lentamente con $T$",
        r"$\lVert\theta\rVert$ tras 1, 10, 100 y 1000 épocas con $\lambda = 1000$: "
        r"{0}, {1}, {2}, {3}; tras 1, 10 y 100 con $\lambda = 1$: {4}, {5}, {6}",
        r"Cierto donde $\lambda$ acorta los pasos, hasta que la ejecución llega a los mismos "
        r"lugares en cada época; con $\lambda = 1$ lo hace desde la primera.",
    ),
    "longest_steps": (
        "sus actualizaciones son siempre más moderadas que las del perceptrón",
        r"paso más largo: perceptrón {0}, pasivo-agresivo con $\lambda = 0.1$: {1}",
        r"$\eta$ puede llegar a $1/\lambda$, así que la frase solo es cierta si $\lambda \ge 1$.",
    ),
    "degrees": (
        "un $F$ pequeño tiene error estructural; uno grande, error de estimación",
        "distancia al cuadrado a la verdad con grado 1, 4, 16: {0}, {1}, {2}",
        "",
    ),
    "ridge_over_lambda": (
        r"un $\lambda$ mayor ayuda con datos nuevos, y perjudica si es demasiado grande",
        r"error cuadrático en datos nuevos con $\lambda = 10^{{-4}}$, 0.5, 100: {0}, {1}, {2}",
        "",
    ),
    "majority_of_three": (
        "la mayoría de los tres modelos de 1990 es mejor que cada uno de ellos",
        "exactitud en datos nuevos: el mejor de los tres {0}%, la mayoría {1}%",
        "La cota de Schapire habla del peor de los tres errores, cada uno en los ejemplos de su "
        "entrenamiento, y no del mejor modelo.",
    ),
    "real_against_discrete": (
        "AdaBoost real converge más rápido en ciertos casos",
        r"rondas hasta $J \le 1/2$ con árboles de profundidad 2: discreto {0}, real {1}",
        "",
    ),
    "inside_the_mean": (
        "el mínimo de una esperanza es la esperanza del mínimo",
        "menor $J$ {0}, media del menor de cada $x$ {1}",
        "",
    ),
    "known_distribution": (
        "si se conoce la distribución, basta una iteración",
        r"mayor $\lvert E_w[y \mid x]\rvert$ tras una ronda {0}; rondas {1}",
        "",
    ),
    "largest_changes": (
        "GentleBoost cambia $F$ a lo más en 1 y es estable; los otros la cambian más",
        "mayor cambio de $F$ en una ronda: GentleBoost {0}, AdaBoost real {1}, LogitBoost {2}",
        "",
    ),
    "precision_of_fs": (
        r"FS$_\varepsilon$ tiene la precisión $O(\varepsilon)$",
        r"pérdida de entrenamiento sobre la menor con $\varepsilon = 1$, 0.1, 0.01: {0}, {1}, {2}",
        "",
    ),
    "precision_of_r_fs": (
        r"R-FS$_{\varepsilon,\delta}$ llega al Lasso con la precisión $O(\varepsilon)$",
        r"pérdida de entrenamiento sobre la menor en la bola $\delta = 6$ con $\varepsilon = 1$, "
        r"0.1, 0.01: {0}, {1}, {2}; el teorema 2.2.3 deja $2\delta\varepsilon/n = 0.2\varepsilon$",
        "",
    ),
    "subgradient_bound": (
        r"el método del subgradiente está a menos de "
        r"$\frac{\lVert x^0 - x^*\rVert^2}{2(k+1)\alpha} + \frac{\alpha G^2}{2}$ del valor mínimo",
        r"FS$_\varepsilon$ con $\varepsilon = 0.2$ tras 200 pasos: "
        r"$\lVert X^\top r\rVert_\infty$ {0}, permitido {1}",
        "",
    ),
    "starts": (
        "converge a extremos locales, que dependen del inicio",
        "distancia entre los finales de dos inicios: columnas de rango completo {0}, una columna "
        "repetida {1}",
        r"$J$ es convexa, así que un mínimo local es el mínimo; donde no es único, el inicio "
        r"decide qué $\theta$ se encuentra.",
    ),
    "constant_rate": (
        "una tasa constante basta donde la función es fuertemente convexa",
        r"$J$ sobre la menor: ridge {0} tras 300 pasos; SVM tras 500 y 4000 pasos {1} y "
        r"{2} con $\eta = 1/20$, {3} y {4} con $\eta = 1/(\lambda t)$",
        "Cierto para ridge. La función objetivo de la SVM es fuertemente convexa y no suave: con "
        "una tasa constante se queda algo por encima, donde una decreciente sigue bajando.",
    ),
    "giant_sets": (
        "es útil para conjuntos de entrenamiento gigantescos, donde un paso con todos es caro",
        "parte de $J - J^*$ que queda, de 20000 ejemplos: {0} tras pasos con los primeros 1000; "
        r"el descenso por lotes debe verlos todos para su primer paso, que deja {1} con "
        r"$\alpha = 1/L$",
        "",
    ),
    "efficient": (
        "es más eficiente que el descenso sobre toda la función objetivo",
        r"$J$ sobre el mínimo con $\eta_t = 1/(1 + t)$: {0} tras 2000 extracciones de 2000 "
        "ejemplos, {1} tras diez pasos con todos ellos, diez veces más trabajo",
        "",
    ),
    "three_differences": (
        "a diferencia del perceptrón: una tasa decreciente, siempre una actualización, un "
        r"$\lVert\theta\rVert$ que se acorta",
        r"último $\eta$ entre el primero {0}; proporción de pasos que mueven $\theta$: PEGASOS "
        r"{1}, perceptrón {2}; proporción de las actualizaciones sin violación que acortan "
        r"$\theta$ {3}",
        "",
    ),
    "support_vectors": (
        "sin sus vectores de soporte la solución es otra; sin los demás es la misma",
        r"cambio relativo de $\theta$ sin ningún vector de soporte {0}, sin la mitad de los demás "
        "{1}",
        "",
    ),
}
HEAD = """# Lo que afirman los documentos, medido

Lo que los [documentos](sources.md) dicen además de sus figuras, con las semillas 0 a 9; los números
son medias con sus errores estándar. Lo escribe `tests/findings/claims.py`; las pruebas vuelven a
calcular cada veredicto.

| lugar | el documento dice | hallado | semillas que coinciden | veredicto |
|---|---|---|---|---|
"""
TIMES = """
## Tiempos {{#run-times}}

Dependen de la máquina: dos núcleos de una compartida, la más rápida de dos ejecuciones.

*Fuentes Cabrera, sección 3.7: el programa cuadrático está limitado a unos diez mil ejemplos.*

| ejemplos, 20 columnas | QP tal como está impreso | `LinearSVM` |
|---|---|---|
{programs}

Con un punto interior que aprovecha los ceros del programa; nada termina en diez mil. Su tiempo
crece como la potencia {power:.2f} del número de ejemplos.

*Rugeles Ospina, sección 2.3: el tiempo de la regresión por etapas crece moderadamente, y la
solución exacta invierte una matriz.*

| ejemplos × columnas | LS-Boost(0.3), 500 iteraciones | FS, 500 | solución exacta |
|---|---|---|---|
{stagewise}

Cada uno con su certificado. La solución exacta, hallada sin una inversa, fue la más rápida en
{wins} de {shapes} filas.
"""
