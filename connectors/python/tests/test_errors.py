# SPDX-License-Identifier: Apache-2.0
"""Errors: their classes and parts."""

from __future__ import annotations

import pytest

import nearscan


@pytest.mark.parametrize(
    ("text", "kind", "primary"),
    [
        ("SELEC 1", nearscan.ProgrammingError, "syntax error at line 1, column 1"),
        ("SELECT a FROM (SELECT 1 AS b)", nearscan.ProgrammingError, "column 'a' not found"),
        ("SELECT nosuch(1)", nearscan.ProgrammingError, "function 'nosuch' not found"),
        ("SELECT * FROM nowhere", nearscan.ProgrammingError, "table 'nowhere' not found"),
        ("SELECT 1; SELECT 2", nearscan.ProgrammingError, "expected one statement, found 2"),
        ("SET nearscan.pushdown.mode = 'maybe'", nearscan.ProgrammingError, "maybe"),
        ("SELECT * FROM 'no/such.parquet'", nearscan.OperationalError, "not found"),
        ("SELECT 1 / 0", nearscan.DataError, "statement failed"),
        ("SELECT CAST('x' AS INT)", nearscan.DataError, ""),
    ],
)
def test_error_has_the_class_of_its_cause(
    con: nearscan.Connection, text: str, kind: type[nearscan.Error], primary: str
) -> None:
    with pytest.raises(nearscan.DatabaseError) as caught:
        con.sql(text).fetchall()
    assert type(caught.value) is kind
    assert primary in caught.value.primary


def test_syntax_error_shows_the_line_with_a_caret(con: nearscan.Connection) -> None:
    with pytest.raises(nearscan.ProgrammingError) as caught:
        con.sql("SELECT 1 AS a\n  FORM t")
    assert caught.value.position is not None
    assert caught.value.position[0] == 2
    lines = str(caught.value).splitlines()
    caret = next(line for line in lines if line.strip() == "^")
    shown = lines[lines.index(caret) - 1]
    assert shown[caret.index("^") :].startswith("FORM")


def test_error_hints_at_what_was_meant(con: nearscan.Connection) -> None:
    con.sql("CREATE TABLE lineitem AS SELECT 1 AS quantity")
    with pytest.raises(nearscan.ProgrammingError) as caught:
        con.sql("SELECT * FROM lineitm")
    assert caught.value.hint == "did you mean 'lineitem'?"
    assert str(caught.value).splitlines()[-1] == "  hint: did you mean 'lineitem'?"
    with pytest.raises(nearscan.ProgrammingError) as caught:
        con.sql("SELECT quantty FROM lineitem")
    assert caught.value.hint == "did you mean 'quantity'?"


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"drives": ["nowhere:"]}, nearscan.OperationalError),
        ({"drives": ["emulated:", "emulated:"]}, nearscan.OperationalError),
        ({"memory_limit": "much"}, nearscan.ProgrammingError),
        ({"pushdown_mode": "maybe"}, nearscan.ProgrammingError),
        ({"no_such_setting": 1}, nearscan.ProgrammingError),
    ],
)
def test_wrong_options_are_errors(arguments: dict[str, object], kind: type[nearscan.Error]) -> None:
    with pytest.raises(kind):
        nearscan.connect(**arguments)  # type: ignore[arg-type]


def test_settings_are_keywords() -> None:
    with nearscan.connect(pushdown_mode="off", scan="datafusion", threads=3) as con:
        settings = dict(con.sql("SELECT name, value FROM nearscan.settings").fetchall())
        assert settings["nearscan.pushdown.mode"] == "off"
        assert settings["nearscan.scan"] == "datafusion"
        con.set("pushdown_mode", "auto")
        mode = "SELECT value FROM nearscan.settings WHERE name = 'nearscan.pushdown.mode'"
        assert con.sql(mode).fetchone() == ("auto",)
