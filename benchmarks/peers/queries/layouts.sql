-- SPDX-License-Identifier: Apache-2.0
-- Six queries that together read every column of the table, in each layout of its files.

-- query numbers reads: t id num big code tiny small gap_num ratio share gap_share price discount
SELECT sum(id), avg(num), min(big), max(code), sum(tiny), max(small), sum(gap_num), avg(ratio),
  sum(share), sum(gap_share), sum(price), avg(discount)
FROM t;

-- query filter_number
SELECT count(*), sum(price), avg(share), sum(id), max(moment) FROM t WHERE num < 10000;

-- query filter_text
SELECT count(*), sum(price), max(mid) FROM t WHERE note LIKE '%quartz ridge%';

-- query filter_prefix
SELECT count(*), sum(id), min(gap_low) FROM t WHERE high LIKE 'user/31%';

-- query group
SELECT low, flag, count(*), sum(price), avg(ratio), count(gap_low) FROM t
WHERE day < DATE '1976-06-01' GROUP BY low, flag ORDER BY low, flag;

-- query rows
SELECT * FROM t WHERE num < 1000;
