# SPDX-License-Identifier: Apache-2.0
"""The 43 queries of ClickBench, over a generated table of its schema.

The published table is too large to fetch for a test. This one has its 105 columns, and what the
queries depend on: users, sites, phrases and addresses that follow a power law, mostly empty
phrases, long addresses with common beginnings, flags that are mostly zero, rows in the order of
sites and then of time, as in the published files. Its figures are comparable within one run only.
"""

from dataclasses import replace
from pathlib import Path

import numpy
import pyarrow

from . import files, read

ROWS = 10_000_000

# Numbers that queries name.
USER = 435090932899640449
SITE = 62
REFERER_HASH = 3594120000172545465
URL_HASH = 2868770270353813622

HOSTS = [
    "auto.example", "bonpoisk.example", "cards.example", "google.example", "holodilnik.example",
    "irr.example", "kino.example", "loans.example", "mail.example", "news.example",
    "realty.example", "shop.google.test", "tours.example", "video.example", "weather.example",
]  # fmt: skip
WORDS = ["best", "buy", "cheap", "city", "film", "Google", "house", "map", "new", "price", "sale"]
WIDTHS = [1024, 1280, 1366, 1440, 1600, 1920]
PHONES = ["", "", "", "", "iPad", "iPhone 2", "C5-00", "W995", "Optimus", "Xperia", "S5230"]

# Columns that only `SELECT *` reads hold one of a few values.
SMALLINTS = """
    JavaEnable GoodEvent CounterClass OS UserAgent RefererCategoryID URLCategoryID ResolutionDepth
    FlashMajor FlashMinor NetMajor NetMinor UserAgentMajor CookieEnable JavascriptEnable IsMobile
    IsArtifical ClientTimeZone SilverlightVersion1 SilverlightVersion2 SilverlightVersion4
    IsNotBounce IsOldCounter IsEvent IsParameter WithHash Age Sex Income Interests Robotness
    HistoryLength HTTPError SocialSourceNetworkID ParamCurrencyID HasGCLID
""".split()
INTS = """
    RefererRegionID URLRegionID IPNetworkID SilverlightVersion3 CodeVersion HID RemoteIP WindowName
    OpenerName SendTiming DNSTiming ConnectTiming ResponseStartTiming ResponseEndTiming FetchTiming
    CLID
""".split()
TEXTS = """
    FlashMinor2 UserAgentMinor Params PageCharset OriginalURL HitColor BrowserLanguage
    BrowserCountry SocialNetwork SocialAction SocialSourcePage ParamOrderID ParamCurrency
    OpenstatServiceName OpenstatCampaignID OpenstatAdID OpenstatSourceID UTMSource UTMMedium
    UTMCampaign UTMContent UTMTerm FromTag
""".split()

# The order of the published table.
ORDER = """
    WatchID JavaEnable Title GoodEvent EventTime EventDate CounterID ClientIP RegionID UserID
    CounterClass OS UserAgent URL Referer IsRefresh RefererCategoryID RefererRegionID URLCategoryID
    URLRegionID ResolutionWidth ResolutionHeight ResolutionDepth FlashMajor FlashMinor FlashMinor2
    NetMajor NetMinor UserAgentMajor UserAgentMinor CookieEnable JavascriptEnable IsMobile
    MobilePhone MobilePhoneModel Params IPNetworkID TraficSourceID SearchEngineID SearchPhrase
    AdvEngineID IsArtifical WindowClientWidth WindowClientHeight ClientTimeZone ClientEventTime
    SilverlightVersion1 SilverlightVersion2 SilverlightVersion3 SilverlightVersion4 PageCharset
    CodeVersion IsLink IsDownload IsNotBounce FUniqID OriginalURL HID IsOldCounter IsEvent
    IsParameter DontCountHits WithHash HitColor LocalEventTime Age Sex Income Interests Robotness
    RemoteIP WindowName OpenerName HistoryLength BrowserLanguage BrowserCountry SocialNetwork
    SocialAction HTTPError SendTiming DNSTiming ConnectTiming ResponseStartTiming
    ResponseEndTiming FetchTiming SocialSourceNetworkID SocialSourcePage ParamPrice ParamOrderID
    ParamCurrency ParamCurrencyID OpenstatServiceName OpenstatCampaignID OpenstatAdID
    OpenstatSourceID UTMSource UTMMedium UTMCampaign UTMContent UTMTerm FromTag HasGCLID
    RefererHash URLHash CLID
""".split()


def queries(options):
    rows = options.rows or ROWS
    path = Path(options.data) / f"clickbench-{rows}" / "hits.parquet"
    location = files.once(path, lambda path: files.stream(path, batches(rows)))
    return [replace(query, tables={"hits": location}) for query in read("clickbench.sql")]


def batches(rows, size=500_000):
    """The rows in batches."""
    random = numpy.random.default_rng(43)
    form = "http://{host}/{word}/{word}-{number}?from={word}&page={page}"
    addresses = pool(random, 400_000, form)
    titles = pool(random, 100_000, "{word} {word} {number} - {host}")
    phrases = pool(random, 200_000, "{word} {word} {number}")
    # Sites in order: each begins where the one before ends.
    sites = numpy.sort(skewed(random, rows, 5_000, 1.3)).astype("int32")
    sites[sites == sites[int(rows * 0.7)]] = SITE
    for start in range(0, rows, size):
        part = sites[start : start + size]
        yield batch(random, part, start / rows, addresses, titles, phrases)


def batch(random, sites, share, addresses, titles, phrases):
    count = len(sites)
    columns = {}
    for name in SMALLINTS:
        columns[name] = few(random, count).astype("int16")
    for name in INTS:
        columns[name] = few(random, count).astype("int32")
    for name in TEXTS:
        columns[name] = pyarrow.array(["", "a", "ru", "windows"]).take(few(random, count) % 4)
    second = 1_372_636_800 + numpy.sort(random.integers(0, 31 * 86_400, count))
    users = random_numbers(skewed(random, count, 2_000_000, 1.05))
    users[random.integers(0, count, 2)] = USER
    address = skewed(random, count, len(addresses), 1.1)
    referer = skewed(random, count, len(addresses), 1.2)
    has_phrase = random.random(count) < 0.13
    phrase = skewed(random, count, len(phrases), 1.1)
    time = pyarrow.array(second * 1_000_000, pyarrow.timestamp("us"))
    columns |= {
        "WatchID": random.integers(2**62, 2**63 - 1, count),
        "Title": titles.take(pyarrow.array(skewed(random, count, len(titles), 1.2))),
        "EventTime": time,
        "ClientEventTime": time,
        "LocalEventTime": time,
        "EventDate": pyarrow.array((second // 86_400).astype("int32")).cast(pyarrow.date32()),
        "CounterID": sites,
        "ClientIP": (users % (2**31 - 1)).astype("int32"),
        "RegionID": skewed(random, count, 6_000, 1.3).astype("int32"),
        "UserID": users,
        "FUniqID": users,
        "URL": emptied(random, addresses.take(pyarrow.array(address)), 0.01),
        "Referer": emptied(random, addresses.take(pyarrow.array(referer)), 0.2),
        "IsRefresh": flags(random, count, 0.1),
        "ResolutionWidth": random.choice(WIDTHS, count).astype("int16"),
        "ResolutionHeight": random.choice([768, 800, 900, 1024, 1080], count).astype("int16"),
        "MobilePhone": few(random, count).astype("int16"),
        "MobilePhoneModel": pyarrow.array(PHONES).take(random.integers(0, len(PHONES), count)),
        "TraficSourceID": random.choice([-1, 0, 1, 2, 3, 6, 7], count).astype("int16"),
        "SearchEngineID": numpy.where(has_phrase, few(random, count) + 1, 0).astype("int16"),
        "SearchPhrase": chosen(phrases, phrase, has_phrase),
        "AdvEngineID": numpy.where(random.random(count) < 0.006, few(random, count) + 1, 0)
        .astype("int16"),
        "WindowClientWidth": random.integers(300, 1_920, count).astype("int16"),
        "WindowClientHeight": random.integers(200, 1_080, count).astype("int16"),
        "IsLink": flags(random, count, 0.05),
        "IsDownload": flags(random, count, 0.01),
        "DontCountHits": flags(random, count, 0.05),
        "ParamPrice": few(random, count).astype("int64"),
        "RefererHash": numpy.where(referer < 2, REFERER_HASH, random_numbers(referer)),
        "URLHash": numpy.where(address < 4, URL_HASH, random_numbers(address)),
    }  # fmt: skip
    return pyarrow.record_batch([pyarrow.array(columns[name]) for name in ORDER], ORDER)


def skewed(random, count, distinct, power):
    """Numbers from 0 to `distinct`, the small ones more often."""
    return (random.zipf(power, count) - 1) % distinct


def random_numbers(numbers):
    """Numbers that look random, one for each number."""
    mixed = (numbers.astype("uint64") + 1) * numpy.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> numpy.uint64(31)
    return (mixed >> numpy.uint64(1)).astype("int64")


def few(random, count):
    return (random.zipf(2.0, count) - 1) % 40


def flags(random, count, share):
    return (random.random(count) < share).astype("int16")


def emptied(random, values, share):
    return chosen(values, None, random.random(len(values)) >= share)


def chosen(values, places, mask):
    taken = values if places is None else values.take(pyarrow.array(places))
    return pyarrow.compute.if_else(pyarrow.array(mask), taken, "")


def pool(random, count, form):
    """Texts of a form."""
    return pyarrow.array(
        [
            form.format(
                host=HOSTS[random.integers(len(HOSTS))],
                word=WORDS[random.integers(len(WORDS))],
                number=number,
                page=random.integers(1, 50),
            )
            for number in range(count)
        ]
    )
