-- SPDX-License-Identifier: Apache-2.0
-- The 43 queries of ClickBench. Names are quoted because some engines fold them to lower case.

-- query q01
SELECT COUNT(*) FROM hits;

-- query q02
SELECT COUNT(*) FROM hits WHERE "AdvEngineID" <> 0;

-- query q03
SELECT SUM("AdvEngineID"), COUNT(*), AVG("ResolutionWidth") FROM hits;

-- query q04
SELECT AVG("UserID") FROM hits;

-- query q05
SELECT COUNT(DISTINCT "UserID") FROM hits;

-- query q06
SELECT COUNT(DISTINCT "SearchPhrase") FROM hits;

-- query q07
SELECT MIN("EventDate"), MAX("EventDate") FROM hits;

-- query q08
SELECT "AdvEngineID", COUNT(*) FROM hits WHERE "AdvEngineID" <> 0
GROUP BY "AdvEngineID" ORDER BY COUNT(*) DESC;

-- query q09 columns: 2
SELECT "RegionID", COUNT(DISTINCT "UserID") AS u FROM hits
GROUP BY "RegionID" ORDER BY u DESC LIMIT 10;

-- query q10 columns: 3
SELECT "RegionID", SUM("AdvEngineID"), COUNT(*) AS c, AVG("ResolutionWidth"),
  COUNT(DISTINCT "UserID")
FROM hits GROUP BY "RegionID" ORDER BY c DESC LIMIT 10;

-- query q11 columns: 2
SELECT "MobilePhoneModel", COUNT(DISTINCT "UserID") AS u FROM hits
WHERE "MobilePhoneModel" <> '' GROUP BY "MobilePhoneModel" ORDER BY u DESC LIMIT 10;

-- query q12 columns: 3
SELECT "MobilePhone", "MobilePhoneModel", COUNT(DISTINCT "UserID") AS u FROM hits
WHERE "MobilePhoneModel" <> '' GROUP BY "MobilePhone", "MobilePhoneModel" ORDER BY u DESC LIMIT 10;

-- query q13 columns: 2
SELECT "SearchPhrase", COUNT(*) AS c FROM hits WHERE "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY c DESC LIMIT 10;

-- query q14 columns: 2
SELECT "SearchPhrase", COUNT(DISTINCT "UserID") AS u FROM hits WHERE "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY u DESC LIMIT 10;

-- query q15 columns: 3
SELECT "SearchEngineID", "SearchPhrase", COUNT(*) AS c FROM hits WHERE "SearchPhrase" <> ''
GROUP BY "SearchEngineID", "SearchPhrase" ORDER BY c DESC LIMIT 10;

-- query q16 columns: 2
SELECT "UserID", COUNT(*) FROM hits GROUP BY "UserID" ORDER BY COUNT(*) DESC LIMIT 10;

-- query q17 columns: 3
SELECT "UserID", "SearchPhrase", COUNT(*) FROM hits
GROUP BY "UserID", "SearchPhrase" ORDER BY COUNT(*) DESC LIMIT 10;

-- query q18 columns: none
SELECT "UserID", "SearchPhrase", COUNT(*) FROM hits GROUP BY "UserID", "SearchPhrase" LIMIT 10;

-- query q19 columns: 4
SELECT "UserID", extract(minute FROM "EventTime") AS m, "SearchPhrase", COUNT(*) FROM hits
GROUP BY "UserID", m, "SearchPhrase" ORDER BY COUNT(*) DESC LIMIT 10;

-- query q20
SELECT "UserID" FROM hits WHERE "UserID" = 435090932899640449;

-- query q21
SELECT COUNT(*) FROM hits WHERE "URL" LIKE '%google%';

-- query q22 columns: 3
SELECT "SearchPhrase", MIN("URL"), COUNT(*) AS c FROM hits
WHERE "URL" LIKE '%google%' AND "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY c DESC LIMIT 10;

-- query q23 columns: 4
SELECT "SearchPhrase", MIN("URL"), MIN("Title"), COUNT(*) AS c, COUNT(DISTINCT "UserID") FROM hits
WHERE "Title" LIKE '%Google%' AND "URL" NOT LIKE '%.google.%' AND "SearchPhrase" <> ''
GROUP BY "SearchPhrase" ORDER BY c DESC LIMIT 10;

-- query q24 columns: 5
SELECT * FROM hits WHERE "URL" LIKE '%google%' ORDER BY "EventTime" LIMIT 10;

-- query q25 columns: none
SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> '' ORDER BY "EventTime" LIMIT 10;

-- query q26
SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> '' ORDER BY "SearchPhrase" LIMIT 10;

-- query q27 columns: none
SELECT "SearchPhrase" FROM hits WHERE "SearchPhrase" <> ''
ORDER BY "EventTime", "SearchPhrase" LIMIT 10;

-- query q28
SELECT "CounterID", AVG(length("URL")) AS l, COUNT(*) AS c FROM hits WHERE "URL" <> ''
GROUP BY "CounterID" HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25;

-- query q29
SELECT REGEXP_REPLACE("Referer", '^https?://(?:www\.)?([^/]+)/.*$', '\1') AS k,
  AVG(length("Referer")) AS l, COUNT(*) AS c, MIN("Referer")
FROM hits WHERE "Referer" <> '' GROUP BY k HAVING COUNT(*) > 100000 ORDER BY l DESC LIMIT 25;

-- query q30
SELECT
  SUM("ResolutionWidth"), SUM("ResolutionWidth" + 1), SUM("ResolutionWidth" + 2),
  SUM("ResolutionWidth" + 3), SUM("ResolutionWidth" + 4), SUM("ResolutionWidth" + 5),
  SUM("ResolutionWidth" + 6), SUM("ResolutionWidth" + 7), SUM("ResolutionWidth" + 8),
  SUM("ResolutionWidth" + 9), SUM("ResolutionWidth" + 10), SUM("ResolutionWidth" + 11),
  SUM("ResolutionWidth" + 12), SUM("ResolutionWidth" + 13), SUM("ResolutionWidth" + 14),
  SUM("ResolutionWidth" + 15), SUM("ResolutionWidth" + 16), SUM("ResolutionWidth" + 17),
  SUM("ResolutionWidth" + 18), SUM("ResolutionWidth" + 19), SUM("ResolutionWidth" + 20),
  SUM("ResolutionWidth" + 21), SUM("ResolutionWidth" + 22), SUM("ResolutionWidth" + 23),
  SUM("ResolutionWidth" + 24), SUM("ResolutionWidth" + 25), SUM("ResolutionWidth" + 26),
  SUM("ResolutionWidth" + 27), SUM("ResolutionWidth" + 28), SUM("ResolutionWidth" + 29),
  SUM("ResolutionWidth" + 30), SUM("ResolutionWidth" + 31), SUM("ResolutionWidth" + 32),
  SUM("ResolutionWidth" + 33), SUM("ResolutionWidth" + 34), SUM("ResolutionWidth" + 35),
  SUM("ResolutionWidth" + 36), SUM("ResolutionWidth" + 37), SUM("ResolutionWidth" + 38),
  SUM("ResolutionWidth" + 39), SUM("ResolutionWidth" + 40), SUM("ResolutionWidth" + 41),
  SUM("ResolutionWidth" + 42), SUM("ResolutionWidth" + 43), SUM("ResolutionWidth" + 44),
  SUM("ResolutionWidth" + 45), SUM("ResolutionWidth" + 46), SUM("ResolutionWidth" + 47),
  SUM("ResolutionWidth" + 48), SUM("ResolutionWidth" + 49), SUM("ResolutionWidth" + 50),
  SUM("ResolutionWidth" + 51), SUM("ResolutionWidth" + 52), SUM("ResolutionWidth" + 53),
  SUM("ResolutionWidth" + 54), SUM("ResolutionWidth" + 55), SUM("ResolutionWidth" + 56),
  SUM("ResolutionWidth" + 57), SUM("ResolutionWidth" + 58), SUM("ResolutionWidth" + 59),
  SUM("ResolutionWidth" + 60), SUM("ResolutionWidth" + 61), SUM("ResolutionWidth" + 62),
  SUM("ResolutionWidth" + 63), SUM("ResolutionWidth" + 64), SUM("ResolutionWidth" + 65),
  SUM("ResolutionWidth" + 66), SUM("ResolutionWidth" + 67), SUM("ResolutionWidth" + 68),
  SUM("ResolutionWidth" + 69), SUM("ResolutionWidth" + 70), SUM("ResolutionWidth" + 71),
  SUM("ResolutionWidth" + 72), SUM("ResolutionWidth" + 73), SUM("ResolutionWidth" + 74),
  SUM("ResolutionWidth" + 75), SUM("ResolutionWidth" + 76), SUM("ResolutionWidth" + 77),
  SUM("ResolutionWidth" + 78), SUM("ResolutionWidth" + 79), SUM("ResolutionWidth" + 80),
  SUM("ResolutionWidth" + 81), SUM("ResolutionWidth" + 82), SUM("ResolutionWidth" + 83),
  SUM("ResolutionWidth" + 84), SUM("ResolutionWidth" + 85), SUM("ResolutionWidth" + 86),
  SUM("ResolutionWidth" + 87), SUM("ResolutionWidth" + 88), SUM("ResolutionWidth" + 89)
FROM hits;

-- query q31 columns: 3
SELECT "SearchEngineID", "ClientIP", COUNT(*) AS c, SUM("IsRefresh"), AVG("ResolutionWidth")
FROM hits WHERE "SearchPhrase" <> '' GROUP BY "SearchEngineID", "ClientIP" ORDER BY c DESC LIMIT 10;

-- query q32 columns: 3
SELECT "WatchID", "ClientIP", COUNT(*) AS c, SUM("IsRefresh"), AVG("ResolutionWidth")
FROM hits WHERE "SearchPhrase" <> '' GROUP BY "WatchID", "ClientIP" ORDER BY c DESC LIMIT 10;

-- query q33 columns: 3
SELECT "WatchID", "ClientIP", COUNT(*) AS c, SUM("IsRefresh"), AVG("ResolutionWidth")
FROM hits GROUP BY "WatchID", "ClientIP" ORDER BY c DESC LIMIT 10;

-- query q34 columns: 2
SELECT "URL", COUNT(*) AS c FROM hits GROUP BY "URL" ORDER BY c DESC LIMIT 10;

-- query q35 columns: 1 3
SELECT 1 AS one, "URL", COUNT(*) AS c FROM hits GROUP BY one, "URL" ORDER BY c DESC LIMIT 10;

-- query q36 columns: 5
SELECT "ClientIP", "ClientIP" - 1 AS a, "ClientIP" - 2 AS b, "ClientIP" - 3 AS d, COUNT(*) AS c
FROM hits GROUP BY "ClientIP", a, b, d ORDER BY c DESC LIMIT 10;

-- query q37 columns: 2
SELECT "URL", COUNT(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE '2013-07-31'
  AND "DontCountHits" = 0 AND "IsRefresh" = 0 AND "URL" <> ''
GROUP BY "URL" ORDER BY views DESC LIMIT 10;

-- query q38 columns: 2
SELECT "Title", COUNT(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE '2013-07-31'
  AND "DontCountHits" = 0 AND "IsRefresh" = 0 AND "Title" <> ''
GROUP BY "Title" ORDER BY views DESC LIMIT 10;

-- query q39 columns: 2
SELECT "URL", COUNT(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE '2013-07-31'
  AND "IsRefresh" = 0 AND "IsLink" <> 0 AND "IsDownload" = 0
GROUP BY "URL" ORDER BY views DESC LIMIT 10 OFFSET 1000;

-- query q40 columns: 6
SELECT "TraficSourceID", "SearchEngineID", "AdvEngineID",
  CASE WHEN "SearchEngineID" = 0 AND "AdvEngineID" = 0 THEN "Referer" ELSE '' END AS src,
  "URL" AS dst, COUNT(*) AS views
FROM hits
WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE '2013-07-31'
  AND "IsRefresh" = 0
GROUP BY "TraficSourceID", "SearchEngineID", "AdvEngineID", src, dst
ORDER BY views DESC LIMIT 10 OFFSET 1000;

-- query q41 columns: 3
SELECT "URLHash", "EventDate", COUNT(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE '2013-07-31'
  AND "IsRefresh" = 0 AND "TraficSourceID" IN (-1, 6) AND "RefererHash" = 3594120000172545465
GROUP BY "URLHash", "EventDate" ORDER BY views DESC LIMIT 10 OFFSET 100;

-- query q42 columns: 3
SELECT "WindowClientWidth", "WindowClientHeight", COUNT(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-01' AND "EventDate" <= DATE '2013-07-31'
  AND "IsRefresh" = 0 AND "DontCountHits" = 0 AND "URLHash" = 2868770270353813622
GROUP BY "WindowClientWidth", "WindowClientHeight" ORDER BY views DESC LIMIT 10 OFFSET 10000;

-- query q43
SELECT DATE_TRUNC('minute', "EventTime") AS m, COUNT(*) AS views FROM hits
WHERE "CounterID" = 62 AND "EventDate" >= DATE '2013-07-14' AND "EventDate" <= DATE '2013-07-15'
  AND "IsRefresh" = 0 AND "DontCountHits" = 0
GROUP BY m ORDER BY m LIMIT 10 OFFSET 1000;
