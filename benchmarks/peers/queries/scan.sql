-- SPDX-License-Identifier: Apache-2.0
-- Thirty queries over single tables. The comment of a query says what it is about.

-- query count
SELECT count(*) FROM t;

-- query count_nullable
SELECT count(gap_num), count(gap_share), count(gap_low) FROM t;

-- query aggregate_integers reads: t id num tiny small code
SELECT sum(id), avg(num), min(num), max(num), sum(tiny), max(small), min(code) FROM t;

-- query aggregate_decimals reads: t price discount
SELECT sum(price), avg(price), min(price), max(price), sum(price * (1 - discount)) FROM t;

-- query aggregate_floats reads: t share ratio gap_share
SELECT sum(share), avg(ratio), min(share), max(ratio), avg(gap_share) FROM t;

-- query extremes_of_texts_and_times
SELECT min(mid), max(mid), min(day), max(day), min(moment), max(moment) FROM t;

-- query filter_nothing_left
SELECT count(*), sum(price) FROM t WHERE num = 500000 AND tiny > 48 AND share < 0.00001;

-- query filter_one_in_a_million
SELECT count(*), sum(price), max(day) FROM t WHERE num = 271828;

-- query filter_one_in_a_thousand_rows
SELECT * FROM t WHERE num < 1000;

-- query filter_one_in_a_hundred
SELECT count(*), sum(price), avg(share), max(moment) FROM t WHERE num < 10000;

-- query filter_a_tenth_of_floats
SELECT count(*), sum(price), avg(ratio) FROM t WHERE share < 0.1;

-- query filter_half_of_decimals
SELECT count(*), sum(share), max(num) FROM t WHERE price >= 50000.00;

-- query filter_most
SELECT sum(price), avg(share) FROM t WHERE tiny < 45;

-- query filter_all reads: t num price share
SELECT sum(price), avg(share) FROM t WHERE num >= 0;

-- query filter_month
SELECT count(*), sum(price) FROM t WHERE day >= DATE '1973-06-01' AND day < DATE '1973-07-01';

-- query filter_conjunction
SELECT sum(price * discount) FROM t
WHERE day >= DATE '1972-01-01' AND day < DATE '1973-01-01'
  AND discount BETWEEN 0.05 AND 0.07 AND tiny < 24;

-- query filter_disjunction
SELECT count(*), sum(price) FROM t WHERE num < 1000 OR tiny = 7 AND flag OR low = 'sea-class';

-- query filter_low_text
SELECT count(*), avg(price) FROM t WHERE low = 'rail-class';

-- query filter_in_list
SELECT count(*), sum(price) FROM t
WHERE mid IN ('item 3', 'item 14', 'item 159', 'item 265', 'item 358', 'item 979');

-- query filter_prefix
SELECT count(*), sum(id) FROM t WHERE high LIKE 'user/31%';

-- query filter_contains
SELECT count(*), sum(price) FROM t WHERE note LIKE '%quartz ridge%';

-- query filter_nulls
SELECT count(*), sum(gap_num) FROM t WHERE gap_low IS NOT NULL AND gap_share IS NULL;

-- query filter_flag_and_unsigned
SELECT count(*), sum(price) FROM t WHERE flag AND code >= 4000000000;

-- query group_low
SELECT low, flag, count(*), sum(price), sum(price * (1 - discount)), avg(share) FROM t
WHERE day < DATE '1976-06-01' GROUP BY low, flag ORDER BY low, flag;

-- query group_mid
SELECT mid, count(*), sum(price), max(moment) FROM t GROUP BY mid ORDER BY mid;

-- query group_high columns: 2
SELECT high, count(*) AS n FROM t GROUP BY high ORDER BY n DESC LIMIT 10;

-- query group_many_numbers columns: 2
SELECT num, sum(price) AS total FROM t GROUP BY num ORDER BY total DESC LIMIT 10;

-- query top
SELECT id, share, price, mid, note FROM t ORDER BY share DESC, id LIMIT 20;

-- query wide_table
SELECT sum(c0), avg(c100), count(*), max(c299) FROM wide WHERE c150 < 5000000 AND c4 < 0.5;

-- query many_files
SELECT tiny, count(*), sum(price), max(num) FROM many WHERE flag GROUP BY tiny ORDER BY tiny;
