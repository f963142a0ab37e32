"""The algorithms as the documents print them, line by line, in Spanish and in English."""

from __future__ import annotations

from dataclasses import dataclass

from cotas.words import LANGUAGES, current

INDENT = "  "
# Who wrote a document; its title where it names nobody.
AUTHORS = {
    "000": "Fuentes Cabrera",
    "001": "Rugeles Ospina",
    "002": "Fuentes-Pineda",
    "003": "Moreno Chávez",
    "004": "Clasificación lineal",
}


@dataclass(frozen=True)
class Line:
    """A line of a printed algorithm, `depth` levels inside others.

    `number` is the page's, or counts where it prints none.
    """

    number: str
    english: str
    spanish: str
    depth: int = 0

    def text(self, lang: str | None = None) -> str:
        """The line in English ("en") or Spanish ("es").

        Parameters
        ----------
        lang : "en" or "es", optional
            The language of `cotas.lang` if not given.
        """
        lang = current() if lang is None else lang
        if lang not in LANGUAGES:
            raise ValueError(f"lang must be 'en' (English) or 'es' (Spanish), not {lang!r}.")
        return self.english if lang == "en" else self.spanish

    def indented(self, lang: str | None = None) -> str:
        """The same, moved to the right as far as it is inside others.

        Parameters
        ----------
        lang : "en" or "es", optional
            The language of `cotas.lang` if not given.
        """
        return INDENT * self.depth + self.text(lang)


@dataclass(frozen=True)
class Printed:
    """An algorithm on its page.

    Attributes
    ----------
    document : the number of the document
    place : where in it
    english, spanish : its title
    lines : tuple of Line
    """

    document: str
    place: str
    english: str
    spanish: str
    lines: tuple[Line, ...]

    @property
    def author(self) -> str:
        """Who wrote the document, or its title where it names nobody."""
        return AUTHORS[self.document]

    def __getitem__(self, number: str) -> Line:
        """The line with this number."""
        return next(line for line in self.lines if line.number == number)

    def some(self, *numbers: str) -> tuple[Line, ...]:
        """The lines with these numbers."""
        return tuple(self[number] for number in numbers)

    @property
    def last(self) -> Line:
        """Where the algorithm ends."""
        return self.lines[-1]

    def text(self, lang: str | None = None) -> str:
        """All the lines, each with its number, those of a loop inside it.

        Parameters
        ----------
        lang : "en" or "es", optional
            The language of `cotas.lang` if not given.
        """
        width = max(len(line.number) for line in self.lines)
        return "\n".join(f"{line.number:>{width}}: {line.indented(lang)}" for line in self.lines)


def _page(text: str) -> Printed:
    """Read an algorithm: "document | place", its title, and lines "number | text".

    Title and text are in English and, after a bar, in Spanish where that is another. The English
    of a line is indented as on the page.
    """
    (document, place), titles, *rows = (row.split(" | ") for row in text.strip().split("\n"))
    lines = []
    for number, indented, *spanish in rows:
        english = indented.lstrip()
        depth = (len(indented) - len(english)) // len(INDENT)
        lines.append(Line(number, english, spanish[0] if spanish else english, depth))
    return Printed(document, place, titles[0], titles[-1], tuple(lines))


PERCEPTRON_THROUGH_THE_ORIGIN = _page("""
000 | Algorithm 1
Perceptron without bias | Perceptrón sin sesgo
1 | procedure PERCEPTRON({(xᵢ, yᵢ), i = 1, …, n}, T)
2 |   θ ← 0
3 |   for t = 1, …, T do | para t = 1, …, T hacer
4 |     for i = 1, …, n do | para i = 1, …, n hacer
5 |       if yᵢ(θ·xᵢ) ≤ 0 then | si yᵢ(θ·xᵢ) ≤ 0 entonces
6 |         θ ← θ + yᵢxᵢ
7 |   return θ | devolver θ
""")
PERCEPTRON = _page("""
000 | Algorithm 2
Perceptron | Perceptrón
1 | procedure PERCEPTRON({(xᵢ, yᵢ), i = 1, …, n}, T)
2 |   θ ← 0, θ₀ ← 0
3 |   for t = 1, …, T do | para t = 1, …, T hacer
4 |     for i = 1, …, n do | para i = 1, …, n hacer
5 |       if yᵢ(θ·xᵢ + θ₀) ≤ 0 then | si yᵢ(θ·xᵢ + θ₀) ≤ 0 entonces
6 |         θ ← θ + yᵢxᵢ
7 |         θ₀ ← θ₀ + yᵢ
8 |   return θ, θ₀ | devolver θ, θ₀
""")
AVERAGED_PERCEPTRON = _page("""
000 | Algorithm 3
Averaged perceptron | Perceptrón medio
1 | procedure AVERAGED PERCEPTRON({(xᵢ, yᵢ)}, T) | procedure PERCEPTRON MEDIO({(xᵢ, yᵢ)}, T)
2 |   θ ← 0, θ₀ ← 0
3 |   θ̄ ← 0, θ̄₀ ← 0
4 |   c ← 1
5 |   for t = 1, …, T do | para t = 1, …, T hacer
6 |     for i = 1, …, n do | para i = 1, …, n hacer
7 |       if yᵢ(θ·xᵢ + θ₀) ≤ 0 then | si yᵢ(θ·xᵢ + θ₀) ≤ 0 entonces
8 |         θ ← θ + yᵢxᵢ
9 |         θ₀ ← θ₀ + yᵢ
10 |         θ̄ ← θ̄ + c yᵢxᵢ
11 |         θ̄₀ ← θ̄₀ + c yᵢ
12 |       c ← c − 1/(nT)
13 |   return θ̄, θ̄₀ | devolver θ̄, θ̄₀
""")
PASSIVE_AGGRESSIVE = _page("""
000 | Algorithm 4
Passive-aggressive algorithm | Algoritmo pasivo-agresivo
1 | procedure PASSIVE-AGGRESSIVE({(xᵢ, yᵢ)}, λ, T) | procedure PASIVO-AGRESIVO({(xᵢ, yᵢ)}, λ, T)
2 |   θ ← 0
3 |   for t = 1, …, T do | para t = 1, …, T hacer
4 |     for i = 1, …, n do | para i = 1, …, n hacer
5 |       η ← min{loss(yᵢ θ·xᵢ)/‖xᵢ‖², 1/λ} | η ← min{pérdida(yᵢ θ·xᵢ)/‖xᵢ‖², 1/λ}
6 |       θ ← θ + η yᵢxᵢ
7 |   return θ | devolver θ
""")
PEGASOS = _page("""
000 | Algorithm 5
PEGASOS
1 | procedure PEGASOS({(xᵢ, yᵢ), i = 1, …, n}, λ, T)
2 |   θ ← 0
3 |   for t = 1, …, T do | para t = 1, …, T hacer
4 |     choose i ∈ {1, …, n} at random | elegir al azar i ∈ {1, …, n}
5 |     η ← 1/t
6 |     if yᵢ θ·xᵢ ≤ 1 then | si yᵢ θ·xᵢ ≤ 1 entonces
7 |       θ ← (1 − ηλ)θ + η yᵢxᵢ
8 |     else | si no
9 |       θ ← (1 − ηλ)θ
10 |   return θ | devolver θ
""")
PEGASOS_WITH_BIAS = _page("""
002 | Subgradient descent (PEGASOS)
PEGASOS with bias | PEGASOS con sesgo
1 | initialize w and b at 0 | inicializamos w y b a 0
2 | for t = 1, …, T do | para t = 1, …, T realizar
2.1 |   choose an example (xᵢ, yᵢ) at random | elige un ejemplo (xᵢ, yᵢ) aleatoriamente
2.2 |   η = 1/(λt)
2.3 |   if yᵢ(w·xᵢ + b) < 1: w ← (1 − ηλ)w + η yᵢxᵢ | si yᵢ(w·xᵢ + b) < 1: w ← (1 − ηλ)w + η yᵢxᵢ
2.4 |   otherwise: w ← (1 − ηλ)w | en caso contrario: w ← (1 − ηλ)w
""")
STOCHASTIC_SUBGRADIENT = _page("""
004 | Stochastic gradient descent
Stochastic gradient descent for the support vector machine | \
Gradiente descendente estocástico para la máquina de vectores de soporte
1 | start from J(θ) = (1/n) Σ Jᵢ(θ) | se parte de J(θ) = (1/n) Σ Jᵢ(θ)
2 | draw an example i at random | se obtiene una muestra i aleatoria
3 | ηₜ = 1/(1 + t)
4 | if the loss of i is 0: θ ← θ − ηₜλθ | si la pérdida de i es 0: θ ← θ − ηₜλθ
5 | if it is above 0: θ ← θ − ηₜ(−yᵢxᵢ + λθ) | si es mayor que 0: θ ← θ − ηₜ(−yᵢxᵢ + λθ)
6 | go on until it converges | repetir hasta que converja
""")
SUBGRADIENT_DESCENT = _page("""
004 | Gradient descent
Gradient descent | Gradiente descendente
1 | start from a value of θ | se parte de un valor de θ
2 | compute the slope ∇J(θ) | calcular la pendiente ∇J(θ)
3 | θ ← θ − η∇J(θ)
4 | go on until the minimum | repetir hasta el mínimo
""")
KERNEL_PERCEPTRON = _page("""
000 | Algorithm 2 with the kernel trick of Fuentes-Pineda
Kernel perceptron | Perceptrón con kernel
1 | procedure PERCEPTRON({(xᵢ, yᵢ), i = 1, …, n}, T)
2 |   α ← 0, θ₀ ← 0
3 |   for t = 1, …, T do | para t = 1, …, T hacer
4 |     for i = 1, …, n do | para i = 1, …, n hacer
5 |       if yᵢ(Σⱼ αⱼyⱼ k(xⱼ, xᵢ) + θ₀) ≤ 0 then | si yᵢ(Σⱼ αⱼyⱼ k(xⱼ, xᵢ) + θ₀) ≤ 0 entonces
6 |         αᵢ ← αᵢ + 1
7 |         θ₀ ← θ₀ + yᵢ
8 |   return α, θ₀ | devolver α, θ₀
""")
KERNEL_PEGASOS = _page("""
002 | Kernelized PEGASOS
Kernelized PEGASOS | PEGASOS kernelizado
1 | initialize αᵢ, i = 1, …, n, at 0 | inicializa αᵢ, i = 1, …, n, a 0
2 | for t = 1, …, T do | para t = 1, …, T realizar
2.1 |   choose an index s ∈ {1, …, n} at random | elige un índice s ∈ {1, …, n} aleatoriamente
2.2 |   η = 1/(λt)
2.3 |   if yₛ[η Σᵢ αᵢyᵢ K(xᵢ, xₛ)] < 1: αₛ ← αₛ + 1 | si yₛ[η Σᵢ αᵢyᵢ K(xᵢ, xₛ)] < 1: αₛ ← αₛ + 1
2.4 |   otherwise: αₛ ← αₛ | en caso contrario: αₛ ← αₛ
""")
SMO = _page("""
002 | Sequential minimal optimization (SMO)
Sequential minimal optimization | Optimización mínima secuencial
1 | divide it into subproblems of 2 multipliers | divide en subproblemas con 2 multiplicadores
2 | optimize each of them analytically | optimiza cada uno de forma analítica
3 | subject to 0 ≤ α₁, α₂ ≤ C | sujeto a 0 ≤ α₁, α₂ ≤ C
4 | and y₁α₁ + y₂α₂ = k | y a y₁α₁ + y₂α₂ = k
""")
ADABOOST = _page("""
001 | Algorithm 1
Discrete AdaBoost | AdaBoost discreto
1 | give each example the weight wᵢ = 1/N | asignar a cada dato el peso wᵢ = 1/N
2 | for m = 1, …, M do | para m desde 1 hasta M hacer
3 |   train fₘ(x) ∈ {−1, 1} with the weights | entrenar un modelo fₘ(x) ∈ {−1, 1} con los pesos
4 |   errₘ = Σ wᵢ over the i with fₘ(xᵢ) ≠ yᵢ | errₘ = Σ wᵢ sobre los i con fₘ(xᵢ) ≠ yᵢ
5 |   cₘ = ln((1 − errₘ)/errₘ)
6 |   wᵢ ← wᵢ exp(cₘ 1[yᵢ ≠ fₘ(xᵢ)])
7 |   divide the weights by their sum | renormalizar los pesos para que Σ wᵢ = 1
8 | return sgn[Σ cₘfₘ(x)] | retornar sgn[Σ cₘfₘ(x)]
""")
REAL_ADABOOST = _page("""
001 | Algorithm 2
Real AdaBoost | AdaBoost real
1 | give each example the weight wᵢ = 1/N | asignar a cada dato el peso wᵢ = 1/N
2 | for m = 1, …, M do | para m desde 1 hasta M hacer
3 |   train a model pₘ(x) = P_w(y = 1|x) | entrenar un modelo pₘ(x) = P_w(y = 1|x)
4 |   fₘ(x) = ½ ln(pₘ(x)/(1 − pₘ(x)))
5 |   wᵢ ← wᵢ exp(−yᵢfₘ(xᵢ))
6 |   divide the weights by their sum | renormalizar los pesos para que Σ wᵢ = 1
7 | return sgn[Σ fₘ(x)] | retornar sgn[Σ fₘ(x)]
""")
GENTLEBOOST = _page("""
001 | Algorithm 4
GentleBoost
1 | F(x) = 0, wᵢ = 1/N
2 | for m = 1, …, M do | para m desde 1 hasta M hacer
3 |   fit fₘ by weighted least squares | ajustar fₘ por mínimos cuadrados ponderados
4 |   F(x) ← F(x) + fₘ(x)
5 |   wᵢ ← wᵢ exp(−yᵢfₘ(xᵢ))
6 |   divide the weights by their sum | renormalizar los pesos
7 | return sgn[Σ fₘ(x)] | retornar sgn[Σ fₘ(x)]
""")
BATCH_DESCENT = _page("""
003 | Batch gradient descent
Batch gradient descent | Descenso de gradiente por lotes
1 | initialize t := 0 and θ⁽⁰⁾ | inicialice t := 0 y θ⁽⁰⁾
2 | repeat | repetir
3 |   θ⁽ᵗ⁺¹⁾ := θ⁽ᵗ⁾ − α Σᵢ (θ⁽ᵗ⁾·xᵢ − yᵢ)xᵢ
4 |   t := t + 1
5 | go to 2 until it converges | ir a 2 hasta que converja
""")
STOCHASTIC_DESCENT = _page("""
003 | Stochastic gradient descent
Stochastic gradient descent | Descenso por gradiente estocástico
1 | initialize t := 0 and θ⁽⁰⁾ | inicialice t := 0 y θ⁽⁰⁾
2 | repeat | repetir
3 |   for each (xᵢ, yᵢ) in the training set do | para cada (xᵢ, yᵢ) del conjunto de entrenamiento
4 |     θ⁽ᵗ⁺¹⁾ := θ⁽ᵗ⁾ − α(θ⁽ᵗ⁾·xᵢ − yᵢ)xᵢ
5 |     t := t + 1
6 |   end for | fin para
7 | go to 2 until it converges | ir a 2 hasta que converja
""")
MINI_BATCHES = _page("""
003 | Batch against stochastic: mini-batches
Mini-batches | Mini-lotes
1 | initialize t := 0 and θ⁽⁰⁾ | inicialice t := 0 y θ⁽⁰⁾
2 | repeat | repetir
3 |   for each mini-batch B of v examples do | para cada mini-lote B de v ejemplos
4 |     θ⁽ᵗ⁺¹⁾ := θ⁽ᵗ⁾ − (α/v) Σ (θ⁽ᵗ⁾·xᵢ − yᵢ)xᵢ, i ∈ B
5 |     t := t + 1
6 |   end for | fin para
7 | go to 2 until it converges | ir a 2 hasta que converja
""")
LEAST_SQUARES_BY_DRAWS = _page("""
000 | Algorithm 6
Stochastic gradient descent for least squares | \
Descenso por gradiente estocástico para mínimos cuadrados
1 | procedure LSSGD({(xₜ, yₜ), t = 1, …, n}, T)
2 |   θ ← 0
3 |   for k = 1, …, T do | para k = 1, …, T hacer
4 |     choose t ∈ {1, …, n} at random | elegir al azar t ∈ {1, …, n}
5 |     θ⁽ᵏ⁺¹⁾ ← θ⁽ᵏ⁾ + ηₖ(yₜ − θ·xₜ)xₜ
6 |   return θ | devolver θ
""")
RIDGE_BY_DRAWS = _page("""
000 | Algorithm 7
Stochastic gradient descent for ridge regression | \
Descenso por gradiente estocástico para regresión de cresta
1 | procedure RRSGD({(xₜ, yₜ), t = 1, …, n}, T)
2 |   θ ← 0
3 |   for k = 1, …, T do | para k = 1, …, T hacer
4 |     choose t ∈ {1, …, n} at random | elegir al azar t ∈ {1, …, n}
5 |     θ⁽ᵏ⁺¹⁾ ← (1 − ληₖ)θ⁽ᵏ⁾ + ηₖ(yₜ − θ·xₜ)xₜ
6 |   return θ | devolver θ
""")
