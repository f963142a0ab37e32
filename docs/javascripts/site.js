// Formulas are typeset by KaTeX; a picture that is clicked fills the window.
document.querySelectorAll(".arithmatex").forEach((place) => {
  const written = place.textContent.trim();
  katex.render(written.slice(2, -2), place, {
    displayMode: written.startsWith("\\["),
    throwOnError: false,
  });
});

document.querySelectorAll("a.enlarge").forEach((link) => {
  link.addEventListener("click", (event) => {
    event.preventDefault();
    const shown = document.createElement("dialog");
    shown.className = "enlarged";
    const picture = link.querySelector("img").cloneNode();
    picture.removeAttribute("width");
    shown.append(picture);
    shown.addEventListener("click", () => shown.close());
    shown.addEventListener("close", () => shown.remove());
    document.body.append(shown);
    shown.showModal();
  });
});
