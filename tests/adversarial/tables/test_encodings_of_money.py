"""Money in the code page of Windows: the sign of the euro tells nothing against it."""

from cotas.tables import read_table


def test_euros_are_read_in_the_code_page_of_windows(tmp_path):
    path = tmp_path / "credit.csv"
    lines = ["Importe;Duración", *(f"{k}.166,00 €;{k}" for k in range(1, 40))]
    path.write_bytes("\n".join(lines).encode("cp1252"))
    table = read_table(path)
    assert table.names == ["Importe", "Duración"]
    assert table.features["Importe"].to_list()[:2] == [1166.0, 2166.0]
