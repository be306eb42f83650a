# SPDX-License-Identifier: Apache-2.0
"""Other parameters for the queries of TPC-H, drawn by a seed.

A parameter is replaced wherever its query has it, by another of the same domain: those of TPC-H's
clause 2.4, dates moved by whole months. There are no stored answers for such queries: their rows
are compared with those of another engine.
"""

import datetime
import random
import re

NATIONS = (
    "ALGERIA ARGENTINA BRAZIL CANADA EGYPT ETHIOPIA FRANCE GERMANY INDIA INDONESIA IRAN IRAQ JAPAN"
    " JORDAN KENYA MOROCCO MOZAMBIQUE PERU CHINA ROMANIA SAUDI_ARABIA VIETNAM RUSSIA"
    " UNITED_KINGDOM UNITED_STATES"
)
NATIONS = [name.replace("_", " ") for name in NATIONS.split()]
REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD"]
MODES = ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]
SIZES = ["STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO"]
COATINGS = ["ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED"]
METALS = ["TIN", "NICKEL", "BRASS", "STEEL", "COPPER"]
BOXES = ["SM", "LG", "MED", "JUMBO", "WRAP"]
KINDS = ["CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM"]
COLOURS = "almond azure blue chocolate cornflower dim forest ghost green lace maroon olive puff red"
COLOURS = COLOURS.split()
BRANDS = [f"Brand#{one}{other}" for one in range(1, 6) for other in range(1, 6)]
TYPES = [f"{size} {coating} {metal}" for size in SIZES for coating in COATINGS for metal in METALS]
COATED = [f"{size} {coating}" for size in SIZES for coating in COATINGS]
CONTAINERS = [f"{box} {kind}" for box in BOXES for kind in KINDS]
CODES = [str(code) for code in range(10, 35)]
WORDS = ["special", "pending", "unusual", "express"], ["packages", "requests", "accounts"]

# Words that stand for one parameter, with what may stand in their place.
DOMAINS = [NATIONS, REGIONS, SEGMENTS, BRANDS, TYPES, CONTAINERS]

# By query: numbers and texts that have a domain there alone.
OWN = {
    "q02": {"p_size = 15": [f"p_size = {size}" for size in range(1, 51)], "%BRASS": METALS},
    "q06": {"0.06": [f"0.0{part}" for part in range(2, 10)], "< 24": ["< 24", "< 25"]},
    "q09": {"%green%": COLOURS},
    "q11": {"0.0001": ["0.0001", "0.0002", "0.00005"]},
    "q12": {"'MAIL'": MODES, "'SHIP'": MODES},
    "q13": {"special": WORDS[0], "requests": WORDS[1]},
    "q16": {
        "MEDIUM POLISHED": COATED,
        "49, 14, 23, 45, 19, 3, 36, 9": None,
    },
    "q18": {"300": ["250", "312", "313", "314", "315"]},
    "q19": {
        "l_quantity >= 1\n": [f"l_quantity >= {count}\n" for count in range(1, 11)],
        "l_quantity >= 20": [f"l_quantity >= {count}" for count in range(15, 31)],
    },
    "q20": {"forest%": COLOURS},
    "q22": {"'13', '31', '23', '29', '30', '18', '17'": None},
}

DATE = re.compile(r"'(\d{4})-(\d{2})-(\d{2})'")


def draw(name, text, seed):
    """A query of TPC-H with parameters of a seed.

    >>> draw("q14", "l_shipdate >= CAST('1995-09-01' AS DATE)", 1)
    "l_shipdate >= CAST('1995-03-01' AS DATE)"
    """
    draws = random.Random(f"{name} {seed}")
    for domain in DOMAINS:
        text = exchange(text, domain, draws)
    for old, domain in OWN.get(name, {}).items():
        assert old in text, f"{name} has no {old}"
        text = text.replace(old, place(old, domain, draws))
    months = draws.randint(-12, 12) or 1
    return DATE.sub(lambda found: moved(found, months), text)


def exchange(text, domain, draws):
    """The text with each of a domain's words, in quotes, exchanged for another one."""
    there = [word for word in domain if f"'{word}'" in text]
    instead = dict(zip(there, draws.sample(domain, len(there))))
    quoted = "|".join(re.escape(f"'{word}'") for word in there)
    if not there:
        return text
    return re.sub(quoted, lambda found: f"'{instead[found[0].strip(chr(39))]}'", text)


def place(old, domain, draws):
    """What stands in place of a parameter that is no word of its own."""
    if domain is None:
        quote = "'" if "'" in old else ""
        count = old.count(",") + 1
        drawn = draws.sample(CODES if quote else range(1, 51), count)
        return ", ".join(f"{quote}{value}{quote}" for value in drawn)
    drawn = draws.choice(domain)
    if old.strip("'%") in domain:
        return old.replace(old.strip("'%"), drawn)
    return drawn


def moved(found, months):
    """A date moved by months, but not beyond those that TPC-H has; its day stays."""
    year, month, day = (int(part) for part in found.groups())
    month += 12 * year - 1 + months
    date = datetime.date(month // 12, month % 12 + 1, min(day, 28))
    date = min(max(date, datetime.date(1992, 1, 1)), datetime.date(1998, 12, 28))
    return f"'{date}'"
