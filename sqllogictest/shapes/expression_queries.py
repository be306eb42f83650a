# SPDX-License-Identifier: Apache-2.0
"""Queries over `x_values`: conditions and results made of every expression.

Each condition counts its rows and sums their keys, so that one row too many shows. Each expression
is shown for some rows and folded over all of them.
"""

from __future__ import annotations

from slt_files import SltFile

COMPARED = ["=", "<>", "<", "<=", ">", ">="]


def condition_file(
    name: str, about: str, conditions: list[str], table: str = "x_values"
) -> SltFile:
    file = SltFile(f"expression/{name}", about)
    for condition in conditions:
        file.rows(f"SELECT count(*) AS c, sum(id) AS s\nFROM {table}\nWHERE {condition}")
    return file


def value_file(name: str, about: str, expressions: list[str], where: str = "") -> SltFile:
    """Shows every expression for a few rows, and its extremes over all."""
    file = SltFile(f"expression/{name}", about)
    for place, expression in enumerate(expressions):
        few = f"id BETWEEN {place * 13} AND {place * 13 + 7}"
        condition = f"{where} AND {few}" if where else few
        query = f"SELECT id, {expression} AS x\nFROM x_values\nWHERE {condition}\nORDER BY id"
        file.ordered(query)
        tail = f"\nWHERE {where}" if where else ""
        folded = f"count({expression}) AS c, min({expression}) AS low, max({expression}) AS high"
        file.rows(f"SELECT {folded}\nFROM x_values{tail}")
    return file


def arithmetic() -> list[SltFile]:
    integers = [
        *("a + b", "b - a", "a * c", "-a", "a * 2 + 1", "(a + c) * n - 7", "a * a - b"),
        *("CAST(a AS BIGINT) * b", "CAST(i8 AS INTEGER) * i16", "CAST(u8 AS INTEGER) - 200"),
        *("CAST(u32 AS BIGINT) - 4000000000", "b * n / n", "abs(a) + abs(c)", "a + NULL"),
    ]
    divisions = [
        *("a / n", "-a / n", "b / 1000", "a / 7", "a / -7", "b / nullif(c, 0)", "100 / n"),
        *("a % n", "-a % n", "b % 1000", "a % -7", "b % nullif(c, 0)", "i16 % 10", "u8 % 16"),
        *("(a + b) / n % 5", "a / n * n + a % n"),
    ]
    numbers = [
        *("m + m", "m - w", "w + 1", "m * n", "m * r", "m * (1 - r)", "m * (1 - r) * (1 + r)"),
        *("-m", "m * 2 - w", "w * 100", "abs(w)", "a + m", "m - a", "n * r"),
        *("CAST(m AS DOUBLE) / 8", "CAST(a AS DOUBLE) / 4", "d + d", "d * 2 - f", "f + 1"),
        *("d / 4", "-f", "abs(d)", "f * f", "CAST(a AS DOUBLE) / NULLIF(c, 0)"),
    ]
    return [
        value_file("integers", "Sums, products and signs of integers.", integers),
        value_file("division", "Quotients and remainders of integers, of every sign.", divisions),
        value_file("decimals_and_floats", "Arithmetic of decimals and of floats.", numbers),
        condition_file(
            "arithmetic_conditions",
            "Comparisons of results of arithmetic, which are NULL where an operand is.",
            [
                *(f"a + c {sign} 10" for sign in COMPARED),
                *(f"a * n {sign} b" for sign in COMPARED),
                *("a / n = 3", "a / 7 < -5", "a % 7 = 0", "a % n <> 0", "b % 1000 > 500"),
                *("m * r > CAST('5' AS DECIMAL(9, 2))", "m + w < 0", "m - w > m", "m > a"),
                *("d * 2 > f", "d + f = 0", "f < a", "d > m", "-a > 50", "a * a > 9000"),
                *("(a + c) * (a - c) = a * a - c * c", "NOT (a + b > 0)", "(a + b) IS NULL"),
                *(
                    "a + NULL > 1",
                    "a - c BETWEEN -5 AND 5",
                    "a + 1 IN (1, 2, 3)",
                    "a * c IS NOT NULL",
                ),
            ],
        ),
    ]


def casts() -> list[SltFile]:
    exact = [
        *("CAST(a AS BIGINT)", "CAST(a AS SMALLINT)", "CAST(n AS TINYINT)", "CAST(i8 AS INTEGER)"),
        *("CAST(u8 AS INTEGER)", "CAST(u8 AS SMALLINT)", "CAST(u32 AS BIGINT)"),
        *("CAST(a AS DECIMAL(9, 2))", "CAST(b AS DECIMAL(18, 4))", "CAST(n AS DECIMAL(3, 1))"),
        *("CAST(m AS DECIMAL(15, 4))", "CAST(m AS DECIMAL(12, 2))", "CAST(w AS DECIMAL(15, 2))"),
        *("CAST(w AS DECIMAL(18, 6))", "CAST(m AS DECIMAL(9, 1))", "CAST(w AS DECIMAL(11, 0))"),
        *("CAST(a AS DOUBLE)", "CAST(m AS DOUBLE)", "CAST(f AS DOUBLE)", "CAST(d AS FLOAT)"),
        *("CAST(a AS VARCHAR)", "CAST(m AS VARCHAR)", "CAST(day AS VARCHAR)", "CAST(p AS INTEGER)"),
        *("CAST(c AS BOOLEAN)", "CAST(CAST(a AS VARCHAR) AS BIGINT)", "CAST(day AS TIMESTAMP)"),
        *("CAST(t AS DATE)", "CAST('12' AS INTEGER) + a", "CAST(p AS VARCHAR)"),
        *("CAST(floor(d) AS BIGINT)", "CAST(CAST(a AS DECIMAL(9, 2)) AS INTEGER)"),
    ]
    conditions = [
        *("CAST(a AS BIGINT) < b", "CAST(a AS DECIMAL(9, 2)) > m", "CAST(m AS DECIMAL(15, 4)) < w"),
        *("CAST(i8 AS INTEGER) = -100", "CAST(u8 AS INTEGER) >= 200", "i8 < u8", "i16 > a"),
        *("CAST(u32 AS BIGINT) > 3000000000", "u32 < 1000000000", "CAST(f AS DOUBLE) = d"),
        *(
            "CAST(a AS VARCHAR) = '42'",
            "CAST(t AS DATE) = day",
            "CAST(t AS DATE) > DATE '1999-01-01'",
        ),
        *("CAST(c AS BOOLEAN)", "CAST(p AS INTEGER) = 1", "CAST(m AS DECIMAL(9, 1)) = m"),
        *(
            "a = CAST(7.0 AS DECIMAL(4, 1))",
            "m = 7",
            "w > 1000",
            "m <= CAST('-999.99' AS DECIMAL(9, 2))",
        ),
    ]
    file = condition_file("cast_conditions", "Casts within conditions.", conditions)
    for bad in ("CAST(s AS INTEGER)", "CAST(b AS TINYINT)", "CAST(i16 AS TINYINT)"):
        file.refused(f"SELECT sum({bad})\nFROM x_values\nWHERE id >= 0")
    file.refused("SELECT sum(CAST(w AS DECIMAL(4, 2)))\nFROM x_values\nWHERE id >= 0")
    about = "Casts that keep a value, or round it half up."
    # With a condition: without one, DataFusion answers from the statistics of what is cast.
    return [value_file("casts", about, exact, "n > 0"), file]


def choices() -> list[SltFile]:
    values = [
        "CASE WHEN a > 0 THEN 1 WHEN a < 0 THEN -1 ELSE 0 END",
        "CASE WHEN a > 0 THEN a END",
        "CASE WHEN p THEN a WHEN q THEN -a ELSE NULL END",
        "CASE s WHEN 'red' THEN 1 WHEN 'grün' THEN 2 ELSE 3 END",
        "CASE WHEN s LIKE '%red%' THEN m ELSE r END",
        "CASE WHEN a IS NULL THEN -999 WHEN a BETWEEN -10 AND 10 THEN 0 ELSE a END",
        "CASE WHEN day > DATE '1997-01-01' THEN day ELSE due END",
        "CASE WHEN c = 0 THEN NULL ELSE a / c END",
        "CASE WHEN a > 0 THEN CASE WHEN b > 0 THEN 'both' ELSE 'a' END ELSE 'none' END",
        "CASE WHEN p IS NULL THEN 'unknown' WHEN p THEN 'yes' ELSE 'no' END",
        *("coalesce(a, 0)", "coalesce(a, c, n)", "coalesce(s, z, 'none')", "coalesce(day, due)"),
        *("nullif(a, c)", "nullif(s, '')", "nullif(n, 3)", "coalesce(nullif(c, 0), 10)"),
        *("greatest(a, n)", "least(a, b)", "coalesce(m, w, 0)"),
    ]
    aggregates = [
        "count(*) FILTER (WHERE a > 0) AS x, count(*) FILTER (WHERE p) AS y",
        "sum(a) FILTER (WHERE c = 0) AS x, sum(m) FILTER (WHERE s = 'red') AS y",
        "sum(CASE WHEN p THEN 1 ELSE 0 END) AS x, sum(CASE WHEN NOT p THEN 1 ELSE 0 END) AS y",
        "sum(CASE WHEN s IN ('red', 'blue') THEN m ELSE 0 END) AS x",
        "sum(CASE WHEN a > 0 THEN a END) AS x, count(CASE WHEN a > 0 THEN 1 END) AS y",
        "count(DISTINCT CASE WHEN a > 0 THEN s END) AS x",
        "min(CASE WHEN q THEN day END) AS x, max(CASE WHEN q THEN day END) AS y",
        "sum(coalesce(a, 0)) AS x, count(nullif(c, 0)) AS y",
        "avg(CASE WHEN p THEN a END) AS x",
        "bool_and(a < 200) AS x, bool_or(a > 99) AS y, bool_and(p) AS z, bool_or(q) AS w",
        "bool_and(p) FILTER (WHERE a > 0) AS x, bool_or(p AND q) AS y",
        "100 * sum(CASE WHEN s LIKE '%e%' THEN m * (1 - r) ELSE 0 END) AS x",
    ]
    file = SltFile("expression/conditional_aggregates", "CASE and FILTER within aggregates.")
    for aggregate in aggregates:
        file.rows(f"SELECT {aggregate}\nFROM x_values")
        file.rows(f"SELECT n, {aggregate}\nFROM x_values\nWHERE id % 3 <> 1\nGROUP BY n")
        file.rows(f"SELECT {aggregate}\nFROM x_values\nWHERE a > 1000")
    return [value_file("choices", "CASE, coalesce, nullif, greatest and least.", values), file]


def booleans() -> SltFile:
    return condition_file(
        "booleans",
        "Boolean columns, the tests of truth, and three-valued logic.",
        [
            *("p", "NOT p", "p AND q", "p OR q", "p AND NOT q", "NOT (p OR q)", "p = q", "p <> q"),
            *("p = true", "p = false", "p <> true", "true = p", "p > q", "p IN (true)"),
            *("p IS TRUE", "p IS NOT TRUE", "p IS FALSE", "p IS NOT FALSE", "p IS NULL"),
            *(
                "(p AND q) IS NULL",
                "(p OR q) IS NULL",
                "(NOT p) IS TRUE",
                "p IS NOT DISTINCT FROM q",
            ),
            *("p IS DISTINCT FROM q", "p IS DISTINCT FROM NULL", "p AND a > 0", "p OR a > 0"),
            *("(a > 0) = p", "(a > 0) IS TRUE", "(a > 0) IS NOT FALSE", "(a = c) IS NULL"),
            *("a IS DISTINCT FROM c", "a IS NOT DISTINCT FROM c", "s IS DISTINCT FROM z"),
            *("s IS NOT DISTINCT FROM z", "m IS DISTINCT FROM 7", "day IS NOT DISTINCT FROM due"),
            *("a IS DISTINCT FROM 5", "a IS NOT DISTINCT FROM NULL", "c IS DISTINCT FROM c"),
            *("NOT (a > 0 AND (c < 0 OR p))", "(a > 0 OR NULL)", "(a > 0 AND NULL) IS NULL"),
            *(
                "true",
                "false",
                "NULL",
                "1 = 1 AND p",
                "NULL OR p",
                "CASE WHEN p THEN q ELSE true END",
            ),
        ],
    )


def dates() -> list[SltFile]:
    parts = [
        *(
            f"EXTRACT({part} FROM day)"
            for part in ("year", "month", "day", "quarter", "week", "doy")
        ),
        *("EXTRACT(dow FROM day)", "EXTRACT(year FROM t)", "EXTRACT(hour FROM t)"),
        *("EXTRACT(minute FROM t)", "date_part('year', due)", "date_part('month', t)"),
        *("day - due", "EXTRACT(year FROM due) - EXTRACT(year FROM day)"),
        *(
            f"CAST(day {sign} INTERVAL '{length}' AS DATE)"
            for sign in "+-"
            for length in ("1 day", "1 month", "3 months", "1 year", "90 days", "2 weeks")
        ),
        *("CAST(date_trunc('month', day) AS DATE)", "CAST(date_trunc('year', day) AS DATE)"),
        *("date_trunc('hour', t)", "date_trunc('day', t)", "t + INTERVAL '36 hours'"),
        *("t - INTERVAL '1 month'", "make_date(1996, n, 1)", "coalesce(day, DATE '2000-01-01')"),
    ]
    years = [f"EXTRACT(year FROM day) {sign} 1996" for sign in COMPARED]
    conditions = [
        *years,
        *("EXTRACT(month FROM day) = 2", "EXTRACT(month FROM due) IN (6, 7, 8)"),
        *("EXTRACT(year FROM t) BETWEEN 1996 AND 1997", "EXTRACT(day FROM day) > 28"),
        *("EXTRACT(year FROM day) = EXTRACT(year FROM due)", "day < due", "(day - due) % 7 = 0"),
        *("day >= DATE '1996-02-29' AND day < DATE '1996-02-29' + INTERVAL '1 year'",),
        *(
            "day < DATE '1998-12-01' - INTERVAL '90 days'",
            "day <= DATE '1996-01-31' + INTERVAL '1 month'",
        ),
        *("day + INTERVAL '10 days' > due", "day BETWEEN due AND due + INTERVAL '30 days'"),
        *(
            "t >= TIMESTAMP '1996-05-01 12:00:00'",
            "t < DATE '1996-01-01'",
            "day = DATE '1996-02-29'",
        ),
        *("t BETWEEN TIMESTAMP '1997-01-01' AND TIMESTAMP '1997-12-31 23:59:59'",),
        *(
            "day IN (DATE '1996-02-28', DATE '1996-03-01', NULL)",
            "day > TIMESTAMP '1997-06-01 00:00:00'",
        ),
        *("CAST(day AS TIMESTAMP) < t", "date_trunc('year', t) = TIMESTAMP '1996-01-01'"),
    ]
    return [
        value_file("dates", "Parts of dates and timestamps, and arithmetic with them.", parts),
        condition_file("date_conditions", "Dates and timestamps within conditions.", conditions),
    ]


def lists() -> SltFile:
    """IN lists from one value to three hundred."""
    file = SltFile("expression/in_lists", "IN lists of 1 to 300 values, of every type.")
    for count in (1, 2, 3, 4, 5, 8, 16, 17, 33, 64, 65, 100, 128, 200, 255, 256, 257, 300):
        items = ", ".join(str(value * 7 % 1000) for value in range(count))
        for word in ("IN", "NOT IN"):
            query = f"SELECT count(*) AS c, sum(id) AS s\nFROM g_facts\nWHERE code {word} ({items})"
            file.rows(query)
    for count in (1, 3, 10, 40, 120, 300):
        texts = ", ".join(f"'label {value * 3}'" for value in range(count))
        days = ", ".join(
            f"DATE '19{70 + value % 30}-12-{1 + value % 28:02}'" for value in range(count)
        )
        money = ", ".join(f"CAST('{value - 150}.5' AS DECIMAL(15, 2))" for value in range(count))
        for condition in (
            f"label IN ({texts})",
            f"label NOT IN ({texts}, NULL)",
            f"label NOT IN ({texts})",
            f"day IN ({days}, DATE '1996-01-01')",
            f"m IN ({money})",
            f"code IN ({', '.join(str(value) for value in range(count))}) OR kind IN (1, 2)",
        ):
            file.rows(f"SELECT count(*) AS c, sum(id) AS s\nFROM g_facts\nWHERE {condition}")
    return file


PATTERNS = [
    *("", "a", "abc", "%", "%%", "_", "__", "___", "a%", "ab%", "%c", "%bc", "%b%", "a%c", "a_c"),
    *("_b%", "%_b", "%a%b%", "a%b%c", "%a_c%", "_%", "%_", "%__%", "A%", "abc%abc", "%abc%abc%"),
    *("it''s", "%''%", "100%", "%\t%", "日%", "%本", "日_語", "_本%", "%🌊%", "🌊_", "a_b", "__🌊"),
    *("%special%requests%", "special%", "%green", "green%", "%forest%green%", "x%", "%x", "%xx%"),
    *("ab%ab", "%ä%", "Ä%", "%Ä_", " %", "% ", "% %", "%b_b%", "%ba%ba%", "no such%"),
]


def patterns() -> list[SltFile]:
    files = []
    for column, about in (
        ("w", "strings in a dictionary"),
        ("plain", "plain strings"),
        ("mixed", "strings in a dictionary that overflows"),
    ):
        file = SltFile(f"expression/like_{column}", f"LIKE with every shape of pattern, {about}.")
        for place, pattern in enumerate(PATTERNS):
            words = ("LIKE", "NOT LIKE") if place % 2 else ("LIKE", "ILIKE")
            for word in words:
                query = "SELECT count(*) AS c, sum(id) AS s\nFROM x_words"
                file.rows(f"{query}\nWHERE {column} {word} '{pattern}'")
        file.rows(f"SELECT count(*) AS c\nFROM x_words\nWHERE {column} NOT ILIKE '%A%'")
        file.rows(f"SELECT count(*) AS c\nFROM x_words\nWHERE {column} LIKE NULL")
        file.rows(f"SELECT DISTINCT {column} AS w\nFROM x_words\nWHERE {column} LIKE '%a%b%'")
        files.append(file)
    functions = [
        *("length(w)", "upper(w)", "lower(mixed)", "substr(mixed, 2, 3)", "concat(w, '-', plain)"),
        *("w || plain", "trim(w)", "replace(w, 'a', 'o')", "strpos(mixed, 'b')", "reverse(w)"),
        *("starts_with(w, 'a')", "left(mixed, 2)", "right(mixed, 2)", "coalesce(w, 'none')"),
        *("repeat(w, 2)", "lpad(w, 4, '*')"),
    ]
    file = SltFile("expression/strings", "Functions of strings.")
    for place, function in enumerate(functions):
        few = f"WHERE id BETWEEN {place * 17} AND {place * 17 + 9}"
        file.ordered(f"SELECT id, {function} AS x\nFROM x_words\n{few}\nORDER BY id")
        file.rows(f"SELECT count({function}) AS c, count(DISTINCT {function}) AS d\nFROM x_words")
    return [*files, file]


def files() -> list[SltFile]:
    return [*arithmetic(), *casts(), *choices(), booleans(), *dates(), lists(), *patterns()]
