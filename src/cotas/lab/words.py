"""The words of the lab, in English and in Spanish."""

from __future__ import annotations

from collections.abc import Callable

from cotas.plots.words import LANGUAGES, check_language
from cotas.plots.words import WORDS as OF_PICTURES

Say = Callable[..., str]

# key: (English, Spanish)
WORDS: dict[str, tuple[str, str]] = {
    # ---- the house
    "lab": ("The lab", "El laboratorio"),
    "rooms": ("Rooms", "Salas"),
    "welcome": (
        "The documents, to be tried out: everything that is drawn and written here is computed by "
        "the library while you watch, and proved where there is something to prove.",
        "Los documentos, para probarlos: todo lo que se dibuja y se escribe aquí lo calcula la "
        "biblioteca mientras usted mira, y lo demuestra donde hay algo que demostrar.",
    ),
    "other language": ("Español", "English"),
    "to dark": ("Dark", "Oscuro"),
    "to light": ("Light", "Claro"),
    "skip": ("To the picture", "Al dibujo"),
    "code": ("Show the code", "Ver el código"),
    "save": ("Save picture", "Guardar el dibujo"),
    "copy": ("Copy the link to this state", "Copiar el enlace a este estado"),
    "copied": ("Copied", "Copiado"),
    "reset": ("Start again", "Empezar de nuevo"),
    "solving": ("Solving…", "Resolviendo…"),
    "solving gap": (
        "Solving… the gap proved so far is {gap}",
        "Resolviendo… la brecha demostrada hasta ahora es {gap}",
    ),
    "answered": ("Solved, proved and drawn in {milliseconds:.0f} ms",
                 "Resuelto, demostrado y dibujado en {milliseconds:.0f} ms"),
    # ---- what is refused
    "bad link": (
        "The link asks for {name} = {value}, which there is not; the default is taken.",
        "El enlace pide {name} = {value}, que no existe; se toma el valor por defecto.",
    ),
    "bad points": (
        "The points in the link cannot be read; those of the sample are shown.",
        "Los puntos del enlace no se pueden leer; se muestran los de la muestra.",
    ),
    "too many rows": (
        "These are {rows} rows; the lab takes {most} at most. `cotas fit` takes any number.",
        "Son {rows} filas; el laboratorio admite {most} como mucho. `cotas fit` admite cualquier "
        "número.",
    ),
    "too many classes": (
        "There are {classes} classes; {most} can be told apart by colour and marker.",
        "Hay {classes} clases; por color y marca se distinguen {most}.",
    ),
    "too large": (
        "The file is too large: {most} MB at most.",
        "El archivo es demasiado grande: {most} MB como mucho.",
    ),
    "not finite": (
        "There is a missing value, NaN or infinity among the points; fill it in or leave the row "
        "out.",
        "Hay un valor ausente, NaN o infinito entre los puntos; complételo o quite la fila.",
    ),
    "one class": (
        "All the points are of one class; there is nothing to tell apart. Add a point of another.",
        "Todos los puntos son de una clase; no hay nada que separar. Añada un punto de otra.",
    ),
    "no plane": (
        "The file needs two columns of numbers, and a last column with the class.",
        "El archivo necesita dos columnas de números, y una última columna con la clase.",
    ),
    "bad file": ("The file cannot be used: {why}", "El archivo no se puede usar: {why}"),
    "not separable": (
        "No line separates these classes, so there is no hard margin. Proved: {why}",
        "Ninguna recta separa estas clases, así que no hay margen duro. Demostrado: {why}",
    ),
    "library refuses": ("The library refuses: {why}", "La biblioteca lo rechaza: {why}"),
    # ---- the rooms
    "room steps": ("Step by step", "Paso a paso"),
    "title steps": (
        "The algorithms, one update at a time",
        "Los algoritmos, una actualización cada vez",
    ),
    "lead steps": (
        "Press step, and see which line of the printed algorithm is executed, with which numbers "
        "(documents 000, 001, 002 and 004).",
        "Pulse paso y vea qué línea del algoritmo impreso se ejecuta, y con qué números "
        "(documentos 000, 001, 002 y 004).",
    ),
    "room descent": ("Descent", "Descenso"),
    "title descent": (
        "Gradient descent on the prices of houses",
        "Descenso por gradiente sobre los precios de casas",
    ),
    "lead descent": (
        "J(θ) of document 003 from above: drag the start, choose step, batch and stopping rule, "
        "and watch it arrive, or run away.",
        "J(θ) del documento 003 vista desde arriba: arrastre el inicio, elija el paso, el lote y "
        "la regla de parada, y vea cómo llega o se escapa.",
    ),
    "room penalty": ("λ and c", "λ y c"),
    "title penalty": ("What the penalty does", "Lo que hace la penalización"),
    "lead penalty": (
        "Training and validation loss against c = 1/(λn), where under- and overfitting begin, and "
        "the path of the Lasso beside the stagewise ones (documents 004 and 001).",
        "Pérdida de entrenamiento y de validación según c = 1/(λn), dónde empiezan el subajuste y "
        "el sobreajuste, y el camino del Lasso junto a los de pasos pequeños (documentos 004 y "
        "001).",
    ),
    "room boosting": ("Boosting regression", "Regresión por boosting"),
    "title boosting": (
        "Boosting for regression, and what the theorems allow",
        "Boosting para regresión, y lo que permiten los teoremas",
    ),
    "lead boosting": (
        "LS-Boost(ε), FS_ε and R-FS of document 001: each run against the bound of its theorem.",
        "LS-Boost(ε), FS_ε y R-FS del documento 001: cada corrida frente a la cota de su teorema.",
    ),
    "room done": ("Is your fit done?", "¿Está listo su ajuste?"),
    "title done": ("Is your fit done?", "¿Está listo su ajuste?"),
    "lead done": (
        "A model of scikit-learn, what cotas.certify proves of it, and what more iterations would "
        "do.",
        "Un modelo de scikit-learn, lo que cotas.certify demuestra de él, y lo que harían más "
        "iteraciones.",
    ),
    # ---- room 1
    "room boundary": ("Boundary", "Frontera"),
    "title boundary": (
        "The boundary, the margin and the proof",
        "La frontera, el margen y la demostración",
    ),
    "lead boundary": (
        "Drag a point, and see boundary, margin, support vectors and certificate follow "
        "(documents 000, 002 and 004). A click adds a point, Backspace takes the selected one "
        "away.",
        "Arrastre un punto y vea cómo le siguen la frontera, el margen, los vectores de soporte y "
        "el certificado (documentos 000, 002 y 004). Un clic añade un punto; Retroceso quita el "
        "seleccionado.",
    ),
    "data": ("Data", "Datos"),
    "data groups": ("Two groups (000, 004)", "Dos grupos (000, 004)"),
    "data overlap": ("Overlapping groups", "Grupos que se solapan"),
    "data moons": ("Moons (002)", "Lunas (002)"),
    "data rings": ("Rings (002)", "Anillos (002)"),
    "data xor": ("Exclusive or", "O exclusivo"),
    "data clouds": ("Ten clouds (001)", "Diez nubes (001)"),
    "data gaussians": ("Two Gaussians (001)", "Dos gaussianas (001)"),
    "data iris": ("Iris, three species", "Iris, tres especies"),
    "data own": ("A CSV of one's own", "Un CSV propio"),
    "csv": ("CSV: two columns of numbers, then the class",
            "CSV: dos columnas de números y la clase"),
    "seed": ("Another draw", "Otra muestra"),
    "model": ("Classifier", "Clasificador"),
    "penalty": ("Penalty given as", "Penalización dada por"),
    "penalty lam": ("λ", "λ"),
    "penalty C": ("C", "C"),
    "lam": ("λ", "λ"),
    "C": ("C", "C"),
    "kernel": ("Kernel", "Núcleo"),
    "kernel rbf": ("Radial (RBF)", "Radial (RBF)"),
    "kernel poly": ("Polynomial", "Polinómico"),
    "kernel linear": ("Linear", "Lineal"),
    "kernel cosine": ("Cosine", "Coseno"),
    "sigma": ("Width σ of the kernel", "Anchura σ del núcleo"),
    "degree": ("Degree", "Grado"),
    "coef0": ("Constant of the kernel", "Constante del núcleo"),
    "loss": ("Loss", "Pérdida"),
    "loss hinge": ("Hinge", "Bisagra"),
    "loss squared_hinge": ("Squared hinge", "Bisagra al cuadrado"),
    "margin": ("Margin", "Margen"),
    "margin soft": ("Soft", "Blando"),
    "margin hard": ("Hard", "Duro"),
    "step": ("Step η", "Paso η"),
    "step 1/(lam*t)": ("1/(λt), of 002", "1/(λt), de 002"),
    "step 1/t": ("1/t, of 000", "1/t, de 000"),
    "step 1/(1+t)": ("1/(1+t), of 004", "1/(1+t), de 004"),
    "epochs": ("Epochs", "Épocas"),
    "rounds": ("Rounds", "Rondas"),
    "learning_rate": ("Learning rate", "Tasa de aprendizaje"),
    "depth": ("Depth of the trees", "Profundidad de los árboles"),
    "show": ("Show also", "Mostrar además"),
    "show certified": ("certified predictions", "predicciones certificadas"),
    "show none": ("nothing", "nada"),
    "new class": ("Class of new points", "Clase de los puntos nuevos"),
    "uncertified": ("not certified", "sin certificar"),
    "by hand": ("Points by keyboard", "Puntos por teclado"),
    "number": ("Point", "Punto"),
    "set": ("Move", "Mover"),
    "remove": ("Remove", "Quitar"),
    "certificate": ("The certificate", "El certificado"),
    "part": ("The worst of {count} parts: {label}", "La peor de {count} partes: {label}"),
    "lower": ("at least", "al menos"),
    "upper": ("at most", "como mucho"),
    "measured": ("measured", "medido"),
    "allowed": ("allowed by the theorem", "lo permite el teorema"),
    "steps of proof": (
        "What was proved while it solved, from top to bottom",
        "Lo que se fue demostrando al resolver, de arriba abajo",
    ),
    "statement": ("The statement (in English), and where it is proved",
                  "El enunciado (en inglés) y dónde se demuestra"),
    "training error": ("Training error", "Error de entrenamiento"),
    "validation error": ("Validation error", "Error de validación"),
    "support": ("Support vectors", "Vectores de soporte"),
    "violated": ("Margins violated", "Márgenes violados"),
    "width": ("Width of the margin, 2/‖θ‖", "Anchura del margen, 2/‖θ‖"),
    "certified share": ("Training points certified", "Puntos de entrenamiento certificados"),
    "stopped": ("Ended because", "Terminó porque"),
    "relative gap": ("Relative gap", "Brecha relativa"),
    # ---- numbers
    "numbers": ("Data", "Datos"),
    "numbers document": ("Ten covariates (001)", "Diez covariables (001)"),
    "numbers diabetes": ("Diabetes, 442 patients", "Diabetes, 442 pacientes"),
    "numbers own": ("A CSV of one's own", "Un CSV propio"),
    "csv numbers": ("CSV: columns of numbers, the target last",
                    "CSV: columnas de números, el objetivo al final"),
    "no numbers": (
        "The file needs columns of numbers, at most {most}, and the target in the last one.",
        "El archivo necesita columnas de números, {most} como mucho, y el objetivo en la última.",
    ),
    "too few rows": ("Three rows are the least.", "Hacen falta al menos tres filas."),
    # ---- room 5
    "algorithm": ("Algorithm", "Algoritmo"),
    "algorithm LSBoost": ("LS-Boost(ε), Algorithm 8", "LS-Boost(ε), Algoritmo 8"),
    "algorithm ForwardStagewise": ("FS_ε", "FS_ε"),
    "algorithm RegularizedForwardStagewise": ("R-FS_ε,δ, Algorithm 9", "R-FS_ε,δ, Algoritmo 9"),
    "rate": ("Learning rate ε", "Tasa de aprendizaje ε"),
    "eps": ("Step ε", "Paso ε"),
    "delta": ("Length δ of ‖β‖₁", "Longitud δ de ‖β‖₁"),
    "iterations": ("Iterations", "Iteraciones"),
    "against": ("Coefficients against", "Coeficientes según"),
    "against norm": ("‖β‖₁", "‖β‖₁"),
    "against iteration": ("the iteration", "la iteración"),
    "item": ("Item of the theorem", "Apartado del teorema"),
    "k": ("Look at this part of the run", "Mirar esta parte de la corrida"),
    "loss at k": ("Training error L_n", "Error de entrenamiento L_n"),
    "theorem at k": ("The theorem at iteration {k}", "El teorema en la iteración {k}"),
    "allowed short": ("allowed", "permitido"),
    "open": ("open", "abierto"),
    "says nothing": ("vacuous", "vacío"),
    "holds": ("holds", "se cumple"),
    # ---- room 2
    "procedure": ("Algorithm", "Algoritmo"),
    "procedure perceptron": ("Perceptron (000)", "Perceptrón (000)"),
    "procedure averaged": ("Averaged perceptron (000)", "Perceptrón medio (000)"),
    "procedure passive-aggressive": ("Passive-aggressive (000)", "Pasivo-agresivo (000)"),
    "procedure pegasos": ("PEGASOS, η = 1/(λt) (002)", "PEGASOS, η = 1/(λt) (002)"),
    "procedure pegasos-000": ("PEGASOS, η = 1/t (000)", "PEGASOS, η = 1/t (000)"),
    "procedure pegasos-004": ("PEGASOS, η = 1/(1+t) (004)", "PEGASOS, η = 1/(1+t) (004)"),
    "procedure kernel-perceptron": ("Kernel perceptron (002)", "Perceptrón con núcleo (002)"),
    "procedure smo": ("SMO, pair by pair (002)", "SMO, par a par (002)"),
    "procedure adaboost": ("AdaBoost, round by round (001)", "AdaBoost, ronda a ronda (001)"),
    "at": ("Step", "Paso"),
    "back": ("Back", "Atrás"),
    "play": ("Play", "Reproducir"),
    "pause": ("Pause", "Pausa"),
    "next": ("Step", "Paso"),
    "printed": ("{title}, as document {document} prints it",
                "{title}, como lo imprime el documento {document}"),
    "mistakes": ("mistakes", "errores"),
    "mistake bound": ("mistakes allowed by the theorem", "errores que permite el teorema"),
    "product": ("Π 2√(err(1 − err))", "Π 2√(err(1 − err))"),
    "before it": ("before this step", "antes de este paso"),
    "stump": ("the stump of this round", "el tocón de esta ronda"),
    "step of": ("Step {number} of {total}", "Paso {number} de {total}"),
    "nothing yet": ("Nothing has been learnt yet: press Step.",
                    "Aún no se ha aprendido nada: pulse Paso."),
    "epoch and row": ("Epoch, example", "Época, ejemplo"),
    "rows": ("Examples", "Ejemplos"),
    "above zero": ("Multipliers above zero", "Multiplicadores mayores que cero"),
    "heaviest": ("Largest weight after it", "Mayor peso después"),
    "updated": ("θ moved", "θ se movió"),
    "yes": ("yes", "sí"),
    "no": ("no", "no"),
    "mistakes so far": ("Mistakes so far", "Errores hasta ahora"),
    # ---- room 3
    "way": ("Descent", "Descenso"),
    "way gradient": ("All examples (batch)", "Todos los ejemplos (lote)"),
    "way stochastic": ("One example at a time", "Un ejemplo cada vez"),
    "way mini-batch": ("Mini-batches of four", "Mini-lotes de cuatro"),
    "scale": ("Area", "Superficie"),
    "scale normalized": ("normalized", "normalizada"),
    "scale raw": ("in square metres", "en metros cuadrados"),
    "pace": ("Step α, in multiples of 1/L", "Paso α, en múltiplos de 1/L"),
    "rule": ("Stop when", "Parar cuando"),
    "rule change of J": ("J changes little", "J cambia poco"),
    "rule change of θ": ("θ moves little", "θ se mueve poco"),
    "rule iterations": ("the iterations are over", "se acaban las iteraciones"),
    "small": ("Little is less than", "Poco es menos de"),
    "most": ("Iterations at most", "Iteraciones como mucho"),
    "start x": ("Start, θ₀ in the picture", "Inicio, θ₀ en el dibujo"),
    "start y": ("Start, θ₁ in the picture", "Inicio, θ₁ en el dibujo"),
    "start": ("start: drag it", "inicio: arrástrelo"),
    "walk": ("the steps", "los pasos"),
    "least J": ("least J, in closed form", "J mínima, en forma cerrada"),
    "equal J": ("lines of equal J", "líneas de igual J"),
    "step α": ("Step α", "Paso α"),
    "steps made": ("Steps made", "Pasos dados"),
    "ended": ("Ended", "Terminó"),
    "stop PROVED": ("the gap asked for is proved", "la brecha pedida está demostrada"),
    "stop ROUNDING": ("rounding leaves no more to prove", "el redondeo no deja demostrar más"),
    "stop CALLBACK": ("it was told to stop", "se le pidió parar"),
    "stop INTERRUPTED": ("it was interrupted", "fue interrumpido"),
    "stop TIME": ("the time was over", "se acabó el tiempo"),
    "stop ITERATIONS": ("the iterations were over", "se acabaron las iteraciones"),
    "stop STALLED": ("the rule was met", "se cumplió la regla"),
    "stop THEORY": ("no step can change it", "ningún paso puede cambiarlo"),
    "ran away": ("it ran away", "se escapó"),
    # ---- room 4
    "part of": ("Which of the two", "Cuál de los dos"),
    "part of loss": ("Loss against c (004)", "Pérdida según c (004)"),
    "part of lasso": ("Lasso and stagewise (001)", "Lasso y pasos pequeños (001)"),
    "classes": ("Data", "Datos"),
    "classes noisy": ("Noisy plane (004)", "Plano con ruido (004)"),
    "classes tumours": ("Tumours, scaled", "Tumores, escalados"),
    "classes overlap": ("Overlapping groups", "Grupos que se solapan"),
    "judged by": ("Choose by", "Elegir por"),
    "judged by loss": ("hinge loss", "pérdida bisagra"),
    "judged by error": ("error", "error"),
    "at lam": ("Look at λ", "Mirar λ"),
    "share of delta": ("Length δ, as a part of the path", "Longitud δ, como parte del camino"),
    "chosen": ("ĉ = {c:.4g}, that is λ = {lam:.4g}", "ĉ = {c:.4g}, es decir λ = {lam:.4g}"),
    "regime": ("Regime at this λ", "Régimen con este λ"),
    "regime under": ("underfitting", "subajuste"),
    "regime best": ("chosen", "elegido"),
    "regime over": ("overfitting", "sobreajuste"),
    "proved choice": (
        "Proved: whatever the fits left undone, no other value has a smaller validation loss.",
        "Demostrado: dejen lo que dejen sin hacer los ajustes, ningún otro valor tiene una pérdida "
        "de validación menor.",
    ),
    "open choice": (
        "Another of these values could be better by {regret:.2g} at most, proved.",
        "Otro de estos valores podría ser mejor en {regret:.2g} como mucho, demostrado.",
    ),
    "unknown choice": (
        "Nothing is proved about the choice between these values.",
        "No se demuestra nada sobre la elección entre estos valores.",
    ),
    "future": ("Error on future rows, at most (95 %)", "Error en filas futuras, a lo sumo (95 %)"),
    "margin of it": ("width of the margin, 2/‖θ‖", "anchura del margen, 2/‖θ‖"),
    "lasso at": ("Lasso at δ = {delta:.4g}", "Lasso con δ = {delta:.4g}"),
    "of lasso": ("{name}, Lasso", "{name}, Lasso"),
    "other path": ("Beside the Lasso", "Junto al Lasso"),
    "other path ForwardStagewise": ("FS_ε", "FS_ε"),
    "other path LSBoost": ("LS-Boost(ε)", "LS-Boost(ε)"),
    "other path RegularizedForwardStagewise": ("R-FS_ε,δ", "R-FS_ε,δ"),
    "lasso path": ("The Lasso", "El Lasso"),
    "lam at": ("λ there", "λ ahí"),
    "loss there": ("Training error of the Lasso there", "Error de entrenamiento del Lasso ahí"),
    "loss of other": ("Training error of {name} there", "Error de entrenamiento de {name} ahí"),
    # ---- room 6
    "written": ("The model, as you would write it", "El modelo, como usted lo escribiría"),
    "example": ("Pick one", "Elija uno"),
    "known": ("Known: {known}.", "Se conocen: {known}."),
    "table": ("Data", "Datos"),
    "table breast-cancer": ("Tumours, raw", "Tumores, sin escalar"),
    "table breast-cancer-scaled": ("Tumours, scaled", "Tumores, escalados"),
    "table wine": ("Wine, three cultivars", "Vino, tres cultivares"),
    "table diabetes": ("Diabetes (numbers)", "Diabetes (números)"),
    "table own": ("A CSV of one's own", "Un CSV propio"),
    "csv any": ("CSV: columns of numbers, the target last",
                "CSV: columnas de números, el objetivo al final"),
    "bad model": (
        "Write one call with named arguments, such as SVC(kernel=\"linear\", C=1). Known are "
        "{known}.",
        "Escriba una llamada con argumentos con nombre, como SVC(kernel=\"linear\", C=1). Se "
        "conocen {known}.",
    ),
    "too much": (
        "Whole numbers up to {most} are taken, and no n_jobs.",
        "Se admiten números enteros hasta {most}, y ningún n_jobs.",
    ),
    "needs classes": (
        "This model tells classes apart, and the target is a quantity; choose other data.",
        "Este modelo separa clases, y el objetivo es una cantidad; elija otros datos.",
    ),
    "needs numbers": (
        "This model predicts numbers, and the target is a class; choose other data.",
        "Este modelo predice números, y el objetivo es una clase; elija otros datos.",
    ),
    "library said": ("scikit-learn says", "scikit-learn dice"),
    "silence": ("nothing: no warning", "nada: ninguna advertencia"),
    "warned": ("a warning", "una advertencia"),
    "silent": ("nothing", "nada"),
    "n_iter": ("Iterations made", "Iteraciones hechas"),
    "more": ("What more would do", "Lo que haría más"),
    "objective of it": ("objective", "objetivo"),
    "gap of refits": ("relative gap proved, against {over}",
                      "brecha relativa demostrada, según {over}"),
    "no refits": (
        "There is nothing to vary here: this model has no iterations, or no duality gap.",
        "Aquí no hay nada que variar: este modelo no tiene iteraciones, o no tiene brecha de "
        "dualidad.",
    ),
}  # fmt: skip


def speak(lang: str) -> Say:
    """A function from a key to its words; the pictures' own words are known too.

    >>> speak("es")("support")
    'Vectores de soporte'
    """
    column = LANGUAGES.index(check_language(lang))

    def say(key: str, **values: object) -> str:
        table = WORDS if key in WORDS else OF_PICTURES
        return table[key][column].format(**values)

    return say
