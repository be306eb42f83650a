# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of the suite `joins`: an archive of observations of plants and animals.

Observers visit sites and note what they see, others identify it, some take photos. Twenty tables,
from six rows to four thirds of `rows`, have what makes the sizes of joins hard to estimate:

- foreign keys follow Zipf's law; a tenth of the keys of a table is in no row that refers to it;
- columns depend on each other: a city determines its country, which its sites repeat; observers
  stay in their country, taxa on their continent; the kind of an instrument goes with its year;
- the key of a visit has two columns, and the year of an observation depends on both;
- checklists and identifications refer to the same two tables as observations, so that they close
  cycles; observers, societies and taxa refer to their own table;
- foreign keys are NULL or refer to no row.

The rows depend on `rows` alone.
"""

from dataclasses import dataclass

import numpy
import pyarrow
from pyarrow import compute

from . import files
from .draws import gaps, ids, keys, names, none, notes, running_count, strays, words

SEED = 17
FIRST_YEAR, LAST_YEAR = 1990, 2024

CONTINENTS = ["Africa", "Asia", "Europe", "North America", "Oceania", "South America"]
KINGDOMS = ["birds", "fish", "fungi", "insects", "mammals", "plants"]
REGION_KINDS = ["coast", "inland", "island", "mountain"]
HABITATS = ["beach", "cliff", "forest", "garden", "lake", "meadow", "ridge", "swamp"]
LEVELS = ["expert", "regular", "novice"]
ROLES = ["chair", "editor", "founder", "member", "treasurer", "warden"]
RANKS = ["genus", "species", "subspecies"]
CATEGORIES = ["colour", "diet", "habit", "shape", "size", "sound"]
# Kinds of instruments, and the years in which they are made.
KINDS = {
    "film camera": (1970, 2002),
    "net": (1980, 2024),
    "telescope": (1985, 2024),
    "recorder": (1995, 2024),
    "digital camera": (2000, 2024),
    "phone": (2009, 2024),
}
WEATHERS = ["clear", "cloudy", "fog", "rain", "snow", "storm"]
QUALITIES = ["casual", "unverified", "verified"]
LICENCES = ["all rights reserved", "attribution", "no derivatives", "non-commercial",
            "public domain", "share alike"]  # fmt: skip
STATUSES = ["common", "rare", "vagrant"]


@dataclass(frozen=True)
class Sizes:
    """The number of rows of each table that grows, with a least one so that joins find rows."""

    observation: int

    def part(self, divisor, least):
        return max(self.observation // divisor, least)


def make(folder, rows):
    """Writes a file for each table."""
    folder.mkdir()
    for name, columns in tables(rows).items():
        batch = pyarrow.record_batch({key: pyarrow.array(value) for key, value in columns.items()})
        files.stream(folder / f"{name}.parquet", [batch])


def tables(rows):
    """The columns of each table, by its name."""
    random = numpy.random.default_rng(SEED)
    sizes = Sizes(rows)
    found = {}
    places(random, sizes, found)
    people(random, sizes, found)
    taxa(random, sizes, found)
    instruments(random, sizes, found)
    visits(random, sizes, found)
    observations(random, sizes, found)
    identifications(random, sizes, found)
    photos(random, sizes, found)
    checklists(random, sizes, found)
    return found


def places(random, sizes, found):
    """Countries, their regions, their cities, and sites, each of which repeats the country."""
    found["country"] = {
        "country_id": ids(48),
        "name": names(random, 48, 2, "land"),
        "continent": words(CONTINENTS, numpy.arange(48) % 6),
    }
    country = keys(random, 600, 48, 0.8)
    kind = random.integers(0, 4, 600)
    found["region"] = {
        "region_id": ids(600),
        "country_id": country,
        "name": names(random, 600, 2, "shire"),
        "kind": words(REGION_KINDS, kind),
    }
    region = keys(random, 8_000, 600, 0.7)
    found["city"] = {
        "city_id": ids(8_000),
        "region_id": region,
        "country_id": country[region - 1],
        "name": names(random, 8_000, 3, "ton"),
        "population": (2_000_000 / (1 + random.permutation(8_000))).astype("int64") + 100,
    }
    count = sizes.part(75, 1_000)
    city = keys(random, count, 8_000, 0.6)
    # Two habitats are usual in each kind of region.
    usual = kind[region[city - 1] - 1] * 2 + random.integers(0, 2, count)
    habitat = numpy.where(random.random(count) < 0.85, usual, random.integers(0, 8, count))
    found["site"] = {
        "site_id": ids(count),
        "city_id": city,
        "country_id": country[region[city - 1] - 1],
        "name": names(random, count, 3, " point"),
        "habitat": words(HABITATS, habitat),
        "elevation_m": (habitat * 150 + random.integers(0, 300, count)).astype("int32"),
    }


def people(random, sizes, found):
    """Observers, who may have a mentor, and the societies that they belong to."""
    count = sizes.part(30, 2_000)
    joined = years(random, count)
    # Those who came early are experts more often.
    level = numpy.clip((joined - 1985) // 15 + random.integers(-1, 2, count), 0, 2)
    mentor = keys(random, count, count, 0.9)
    found["observer"] = {
        "observer_id": ids(count),
        "name": names(random, count, 3, ""),
        "country_id": keys(random, count, 48, 0.9),
        "joined_year": joined,
        "level": words(LEVELS, level),
        "mentor_id": gaps(random, strays(random, mentor, count, 0.01), 0.6),
    }
    societies = sizes.part(1_500, 300)
    found["society"] = {
        "society_id": ids(societies),
        "parent_id": gaps(random, keys(random, societies, societies, 1.0), 0.4),
        "country_id": keys(random, societies, 48, 0.7),
        "name": names(random, societies, 3, " society"),
        "field": words(KINGDOMS, random.integers(0, 6, societies)),
    }
    found["role"] = {"role_id": ids(6), "name": pyarrow.array(ROLES)}
    count, observers = sizes.part(15, 4_000), count
    observer = keys(random, count, observers, 0.6)
    role = numpy.where(random.random(count) < 0.9, 4, random.integers(1, 7, count))
    found["membership"] = {
        "observer_id": observer,
        "society_id": strays(random, keys(random, count, societies, 0.8), societies, 0.02),
        "role_id": role.astype("int32"),
        "since_year": joined[observer - 1] + random.integers(0, 5, count).astype("int32"),
    }


def taxa(random, sizes, found):
    """Families of plants and animals, the taxa in them, and what is said of these."""
    found["family"] = {
        "family_id": ids(700),
        "name": names(random, 700, 3, "aceae"),
        "kingdom": words(KINGDOMS, (random.zipf(1.6, 700) - 1) % 6),
    }
    count = sizes.part(75, 2_000)
    family = numpy.sort(keys(random, count, 700, 0.6))
    rank = numpy.where(random.random(count) < 0.15, 0, random.integers(1, 3, count))
    # The parent is a genus nearby, which mostly is of the same family.
    genera = numpy.flatnonzero(rank == 0)
    nearest = numpy.searchsorted(genera, numpy.arange(count), side="right") - 1
    parent = pyarrow.array(genera[numpy.maximum(nearest, 0)].astype("int32") + 1)
    found["taxon"] = {
        "taxon_id": ids(count),
        "family_id": family,
        "parent_id": compute.if_else(pyarrow.array(rank == 0), none(), parent),
        "name": names(random, count, 4, "us"),
        "rank": words(RANKS, rank),
        "continent": words(CONTINENTS, family * 7 % 6),
        "described_year": random.integers(1750, 2000, count).astype("int32"),
    }
    category = numpy.sort(random.integers(0, 6, 90))
    found["trait"] = {
        "trait_id": ids(90),
        "name": names(random, 90, 2, "ed"),
        "category": words(CATEGORIES, category),
    }
    pairs = count * 4
    taxon = random.integers(1, count + 1, pairs).astype("int32")
    # A family has its usual traits.
    usual = (family[taxon - 1] * 13 + random.integers(0, 6, pairs) ** 2) % 90 + 1
    trait = numpy.where(random.random(pairs) < 0.7, usual, keys(random, pairs, 90, 0.9))
    found["taxon_trait"] = {
        "taxon_id": taxon,
        "trait_id": trait.astype("int32"),
        "strength": random.integers(1, 6, pairs).astype("int32"),
    }


def instruments(random, sizes, found):
    found["maker"] = {
        "maker_id": ids(120),
        "country_id": keys(random, 120, 48, 1.0),
        "name": names(random, 120, 2, " works"),
    }
    count = sizes.part(50, 2_000)
    kind = random.integers(0, len(KINDS), count)
    first, last = numpy.array(list(KINDS.values())).T
    made = first[kind] + ((last - first)[kind] * random.random(count)).astype(int)
    found["instrument"] = {
        "instrument_id": ids(count),
        "maker_id": keys(random, count, 120, 0.9),
        "kind": words(list(KINDS), kind),
        "made_year": made.astype("int32"),
        "model": names(random, count, 2, " mark"),
    }


def visits(random, sizes, found):
    """Visits in the order of time; the key is the site and the number of the visit there."""
    count = sizes.part(4, 2_000)
    year = numpy.sort(years(random, count))
    sites, observers = found["site"], found["observer"]
    site = keys(random, count, len(sites["site_id"]), 0.8)
    observer = keys(random, count, len(observers["observer_id"]), 0.8)
    # Most visits are by an observer of the country: another one is drawn among those.
    order = numpy.argsort(observers["country_id"], kind="stable")
    begin = numpy.searchsorted(observers["country_id"][order], numpy.arange(1, 50))
    country = sites["country_id"][site - 1]
    size = begin[country] - begin[country - 1]
    share = random.random(count) ** 2
    local = begin[country - 1] + (share * size).astype(int)
    local = order[numpy.minimum(local, len(order) - 1)] + 1
    at_home = (random.random(count) < 0.85) & (size > 0)
    month = random.integers(1, 13, count)
    snow = numpy.isin(month, [12, 1, 2]) & (random.random(count) < 0.4)
    found["visit"] = {
        "site_id": site,
        "visit_no": running_count(site),
        "observer_id": numpy.where(at_home, local, observer).astype("int32"),
        "year": year,
        "month": month.astype("int32"),
        "weather": words(WEATHERS, numpy.where(snow, 4, random.integers(0, 4, count))),
    }


def observations(random, sizes, found):
    """What was seen on visits, in the order of time."""
    count = sizes.observation
    visit = found["visit"]
    place = numpy.sort(keys(random, count, len(visit["site_id"]), 0.5) - 1)
    year = visit["year"][place]
    site = visit["site_id"][place]
    taxon = local_taxa(random, site, found)
    made = found["instrument"]["made_year"]
    by_year = numpy.argsort(made, kind="stable")
    before = numpy.maximum(numpy.searchsorted(made[by_year], year, side="right"), 1)
    newest = (before * (1 - random.random(count) ** 3)).astype(int)
    instrument = (by_year[numpy.minimum(newest, before - 1)] + 1).astype("int32")
    verified = random.random(count) < (year - 1985) / 60
    quality = numpy.where(verified, 2, random.integers(0, 3, count))
    found["observation"] = {
        "observation_id": ids(count),
        "site_id": site,
        "visit_no": strays(random, visit["visit_no"][place], 1_000_000, 0.005),
        "taxon_id": strays(random, taxon, len(found["taxon"]["taxon_id"]), 0.002),
        "instrument_id": gaps(random, instrument, 0.3),
        "year": year,
        "individuals": numpy.minimum(random.zipf(1.8, count), 10_000).astype("int32"),
        "quality": words(QUALITIES, quality),
        "note": notes(random, count),
    }


def local_taxa(random, site, found):
    """A taxon for each site, nine times of ten one that lives on the continent of the site."""
    taxa = found["taxon"]
    everywhere = keys(random, len(site), len(taxa["taxon_id"]), 0.75)
    home = taxa["family_id"] * 7 % 6
    here = (found["site"]["country_id"][site - 1] - 1) % 6
    result = everywhere.copy()
    for continent in range(6):
        local = numpy.flatnonzero(home == continent) + 1
        wanted = numpy.flatnonzero((here == continent) & (random.random(len(site)) < 0.9))
        if len(local):
            result[wanted] = local[keys(random, len(wanted), len(local), 0.75) - 1]
    return result


def identifications(random, sizes, found):
    """What observers say an observation is: mostly its taxon, or one of the same family."""
    count = sizes.observation * 4 // 3
    seen = found["observation"]
    taxa = len(found["taxon"]["taxon_id"])
    observation = numpy.sort(keys(random, count, sizes.observation, 0.4))
    same = seen["taxon_id"][observation - 1]
    nearby = numpy.clip(same + random.integers(-9, 10, count), 1, taxa)
    other = keys(random, count, taxa, 0.75)
    chance = random.random(count)
    taxon = numpy.select([chance < 0.8, chance < 0.95], [same, nearby], other)
    found["identification"] = {
        "observation_id": observation,
        "observer_id": keys(random, count, len(found["observer"]["observer_id"]), 0.9),
        "taxon_id": taxon.astype("int32"),
        "year": seen["year"][observation - 1] + (random.zipf(2.5, count) - 1).astype("int32") % 5,
    }


def photos(random, sizes, found):
    count = sizes.part(5, 1_000) * 2
    seen, visit = found["observation"], found["visit"]
    observation = numpy.sort(keys(random, count, sizes.observation, 0.4))
    year = seen["year"][observation - 1]
    found["licence"] = {"licence_id": ids(6), "name": pyarrow.array(LICENCES)}
    # Free licences came with time.
    free = random.random(count) < (year - FIRST_YEAR) / 40
    licence = numpy.where(free, random.integers(2, 7, count), 1)
    observers = len(found["observer"]["observer_id"])
    by_visit = visit["observer_id"][random.integers(0, len(visit["site_id"]), count)]
    found["photo"] = {
        "photo_id": ids(count),
        "observation_id": strays(random, observation, sizes.observation, 0.03),
        "observer_id": strays(random, by_visit, observers, 0.01),
        "licence_id": licence.astype("int32"),
        "width": (random.integers(4, 61, count) * 100).astype("int32"),
    }


def checklists(random, sizes, found):
    """Pairs of a site and a taxon: half of them were observed."""
    count = sizes.part(10, 2_000)
    seen = found["observation"]
    drawn = random.integers(0, sizes.observation, count)
    observed = random.random(count) < 0.5
    sites, taxa = len(found["site"]["site_id"]), len(found["taxon"]["taxon_id"])
    site = numpy.where(observed, seen["site_id"][drawn], keys(random, count, sites, 0.5))
    taxon = numpy.where(observed, seen["taxon_id"][drawn], keys(random, count, taxa, 0.5))
    pairs = numpy.unique(numpy.stack([site, taxon]), axis=1).astype("int32")
    count = pairs.shape[1]
    found["checklist"] = {
        "site_id": pairs[0],
        "taxon_id": pairs[1],
        "status": words(STATUSES, numpy.minimum(random.zipf(1.8, count) - 1, 2)),
        "added_year": years(random, count),
    }


def years(random, count):
    """Years, the late ones more often."""
    span = LAST_YEAR - FIRST_YEAR + 1
    return (FIRST_YEAR + span * random.random(count) ** 0.6).astype("int32")
