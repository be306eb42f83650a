-- SPDX-License-Identifier: Apache-2.0
-- Joins of 2 to 17 relations of an archive of observations. The relations that may come in any
-- order begin a line with FROM or JOIN; what follows them is the same in all orders.

-- query pair_filtered
SELECT count(*), count(DISTINCT v.observer_id), min(s.name)
FROM visit AS v
JOIN site AS s ON s.site_id = v.site_id
WHERE s.habitat = 'cliff' AND s.elevation_m > 400 AND v.weather = 'snow';

-- query pair_two_keys
SELECT count(*), sum(o.individuals), min(o.note)
FROM observation AS o
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
WHERE v.month = 2 AND v.weather = 'fog' AND o.quality = 'casual';

-- query pair_three_keys
SELECT count(*), max(o.individuals)
FROM visit AS v
JOIN observation AS o ON o.site_id = v.site_id AND o.visit_no = v.visit_no AND o.year = v.year
WHERE v.year < 1994 AND v.visit_no < 4;

-- query triangle_checklist
SELECT count(*), min(t.name), sum(o.individuals)
FROM observation AS o
JOIN checklist AS k ON k.site_id = o.site_id AND k.taxon_id = o.taxon_id
JOIN taxon AS t ON t.taxon_id = k.taxon_id AND t.taxon_id = o.taxon_id
WHERE k.status = 'vagrant' AND t.rank = 'species' AND o.year >= 2015;

-- query triangle_identified
SELECT count(*), min(t.name), count(DISTINCT i.observer_id)
FROM identification AS i
JOIN observation AS o ON o.observation_id = i.observation_id AND o.taxon_id = i.taxon_id
JOIN taxon AS t ON t.taxon_id = o.taxon_id AND t.taxon_id = i.taxon_id
JOIN family AS f ON f.family_id = t.family_id
WHERE f.kingdom = 'mammals' AND o.quality = 'unverified';

-- query cycle_home_visits
SELECT count(*), min(s.name), max(ob.name)
FROM visit AS v
JOIN site AS s ON s.site_id = v.site_id
JOIN observer AS ob ON ob.observer_id = v.observer_id AND ob.country_id = s.country_id
JOIN country AS c ON c.country_id = s.country_id AND c.country_id = ob.country_id
WHERE c.continent = 'Oceania' AND s.habitat = 'lake' AND ob.level = 'expert';

-- query cycle_four
SELECT count(*), min(ob.name)
FROM photo AS p
JOIN observation AS o ON o.observation_id = p.observation_id
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
JOIN observer AS ob ON ob.observer_id = v.observer_id AND ob.observer_id = p.observer_id
WHERE p.width > 3000 AND ob.joined_year > 2000;

-- query star_selective
SELECT count(*), sum(o.individuals), min(t.name)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN site AS s ON s.site_id = o.site_id
JOIN instrument AS n ON n.instrument_id = o.instrument_id
WHERE t.rank = 'genus' AND s.habitat = 'swamp' AND n.kind = 'net' AND n.made_year < 2000;

-- query star_unselective
SELECT count(*), max(o.individuals)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN site AS s ON s.site_id = o.site_id
JOIN instrument AS n ON n.instrument_id = o.instrument_id
WHERE t.described_year < 1960 AND s.elevation_m > 100 AND n.made_year > 1985;

-- query snowflake
SELECT count(*), sum(o.individuals), min(ci.name)
FROM observation AS o
JOIN site AS s ON s.site_id = o.site_id
JOIN city AS ci ON ci.city_id = s.city_id
JOIN region AS r ON r.region_id = ci.region_id
JOIN country AS c ON c.country_id = r.country_id
WHERE r.kind = 'island' AND c.continent = 'Asia' AND ci.population < 5000;

-- query correlated_country
SELECT count(*), min(s.name), max(r.name)
FROM site AS s
JOIN city AS ci ON ci.city_id = s.city_id AND ci.country_id = s.country_id
JOIN region AS r ON r.region_id = ci.region_id AND r.country_id = ci.country_id
JOIN country AS c ON c.country_id = r.country_id AND c.country_id = s.country_id
JOIN visit AS v ON v.site_id = s.site_id
WHERE c.continent = 'Europe' AND r.kind = 'mountain' AND s.habitat IN ('forest', 'ridge');

-- query correlated_years
SELECT count(*), min(m.name), max(n.model)
FROM observation AS o
JOIN instrument AS n ON n.instrument_id = o.instrument_id
JOIN maker AS m ON m.maker_id = n.maker_id
JOIN country AS c ON c.country_id = m.country_id
WHERE n.kind = 'film camera' AND o.year BETWEEN 1995 AND 2001 AND c.name LIKE '%a%land';

-- query correlated_continents
SELECT count(*), min(t.name)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN site AS s ON s.site_id = o.site_id
JOIN country AS c ON c.country_id = s.country_id
JOIN family AS f ON f.family_id = t.family_id
WHERE t.continent = 'Africa' AND c.continent = 'Africa' AND f.kingdom = 'insects'
  AND s.habitat = 'garden';

-- query self_mentors
SELECT count(*), min(a.name), max(b.name), min(c.name)
FROM observer AS a
JOIN observer AS b ON b.observer_id = a.mentor_id
JOIN observer AS c ON c.observer_id = b.mentor_id
WHERE a.level = 'novice' AND c.level = 'expert';

-- query self_parents
SELECT g.name, count(*), sum(o.individuals)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN taxon AS g ON g.taxon_id = t.parent_id
JOIN family AS f ON f.family_id = g.family_id
WHERE g.described_year < 1760 AND f.kingdom = 'birds' AND t.rank = 'subspecies'
GROUP BY g.name;

-- query self_disagreement
SELECT count(*), min(t.name), max(u.name)
FROM identification AS i
JOIN observation AS o ON o.observation_id = i.observation_id
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN taxon AS u ON u.taxon_id = i.taxon_id AND u.family_id = t.family_id
JOIN family AS f ON f.family_id = t.family_id AND f.family_id = u.family_id
WHERE t.taxon_id <> u.taxon_id AND f.kingdom = 'fungi' AND o.year > 2018;

-- query two_traits
SELECT count(*), min(t.name)
FROM taxon AS t
JOIN taxon_trait AS x ON x.taxon_id = t.taxon_id
JOIN trait AS a ON a.trait_id = x.trait_id
JOIN taxon_trait AS y ON y.taxon_id = t.taxon_id
JOIN trait AS b ON b.trait_id = y.trait_id
JOIN family AS f ON f.family_id = t.family_id
WHERE a.category = 'colour' AND b.category = 'sound' AND x.strength = 5 AND f.kingdom = 'birds';

-- query societies
SELECT up.field, count(*), min(ob.name)
FROM membership AS m
JOIN society AS d ON d.society_id = m.society_id
JOIN society AS up ON up.society_id = d.parent_id
JOIN observer AS ob ON ob.observer_id = m.observer_id
JOIN role AS ro ON ro.role_id = m.role_id
JOIN country AS c ON c.country_id = up.country_id
WHERE ro.name = 'warden' AND c.continent = 'Asia' AND d.field = up.field
GROUP BY up.field;

-- query chain_six
SELECT count(*), min(d.name), max(p.width)
FROM photo AS p
JOIN observation AS o ON o.observation_id = p.observation_id
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
JOIN observer AS ob ON ob.observer_id = v.observer_id
JOIN membership AS m ON m.observer_id = ob.observer_id
JOIN society AS d ON d.society_id = m.society_id
WHERE d.name LIKE 'Qui%' AND p.width > 4000;

-- query semi_exists
SELECT count(*), min(t.name)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN site AS s ON s.site_id = o.site_id
WHERE t.rank = 'species' AND s.habitat = 'ridge' AND o.note LIKE '%nest%'
  AND EXISTS (
    SELECT 1 FROM photo AS p
    WHERE p.observation_id = o.observation_id AND p.licence_id = 5
  );

-- query semi_in
SELECT c.continent, count(*), min(ob.name)
FROM observer AS ob
JOIN membership AS m ON m.observer_id = ob.observer_id
JOIN country AS c ON c.country_id = ob.country_id
WHERE m.since_year > 2010
  AND ob.observer_id IN (
    SELECT i.observer_id FROM identification AS i
    JOIN taxon AS t ON t.taxon_id = i.taxon_id
    WHERE t.described_year < 1752
  )
GROUP BY c.continent;

-- query anti_not_exists
SELECT f.kingdom, count(*), sum(o.individuals)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN family AS f ON f.family_id = t.family_id
WHERE o.year < 2000 AND f.kingdom IN ('fish', 'fungi')
  AND NOT EXISTS (
    SELECT 1 FROM identification AS i WHERE i.observation_id = o.observation_id
  )
GROUP BY f.kingdom;

-- query anti_dangling
SELECT l.name, count(*), min(p.width)
FROM photo AS p
JOIN licence AS l ON l.licence_id = p.licence_id
JOIN observer AS ob ON ob.observer_id = p.observer_id
WHERE NOT EXISTS (
    SELECT 1 FROM observation AS o WHERE o.observation_id = p.observation_id
  )
GROUP BY l.name;

-- query semi_and_anti
SELECT count(*), min(s.name)
FROM visit AS v
JOIN site AS s ON s.site_id = v.site_id
JOIN city AS ci ON ci.city_id = s.city_id
WHERE ci.population < 2000 AND v.year > 2005
  AND EXISTS (SELECT 1 FROM checklist AS k WHERE k.site_id = s.site_id AND k.status = 'rare')
  AND NOT EXISTS (
    SELECT 1 FROM observation AS o
    WHERE o.site_id = v.site_id AND o.visit_no = v.visit_no AND o.quality = 'verified'
  );

-- query left_photos
SELECT s.habitat, count(*), count(p.photo_id), max(p.width)
FROM observation AS o
JOIN site AS s ON s.site_id = o.site_id
JOIN taxon AS t ON t.taxon_id = o.taxon_id
LEFT JOIN photo AS p ON p.observation_id = o.observation_id
WHERE t.described_year BETWEEN 1800 AND 1803
GROUP BY s.habitat;

-- query left_instruments
SELECT count(*), count(n.instrument_id), count(m.maker_id), min(m.name)
FROM observation AS o
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
JOIN site AS s ON s.site_id = v.site_id AND s.site_id = o.site_id
LEFT JOIN instrument AS n ON n.instrument_id = o.instrument_id AND n.kind = 'phone'
LEFT JOIN maker AS m ON m.maker_id = n.maker_id
WHERE v.weather = 'snow' AND s.habitat = 'beach';

-- query eight
SELECT count(*), sum(o.individuals), min(t.name), max(s.name)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN family AS f ON f.family_id = t.family_id
JOIN site AS s ON s.site_id = o.site_id
JOIN city AS ci ON ci.city_id = s.city_id
JOIN region AS r ON r.region_id = ci.region_id
JOIN country AS c ON c.country_id = r.country_id
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
WHERE f.kingdom = 'plants' AND r.kind = 'coast' AND c.name LIKE 'M%' AND v.month = 6;

-- query ten
SELECT count(*), min(t.name), max(m.name)
FROM observation AS o
JOIN identification AS i ON i.observation_id = o.observation_id AND i.taxon_id = o.taxon_id
JOIN observer AS e ON e.observer_id = i.observer_id
JOIN taxon AS t ON t.taxon_id = o.taxon_id AND t.taxon_id = i.taxon_id
JOIN family AS f ON f.family_id = t.family_id
JOIN instrument AS n ON n.instrument_id = o.instrument_id
JOIN maker AS m ON m.maker_id = n.maker_id
JOIN country AS c ON c.country_id = m.country_id
JOIN site AS s ON s.site_id = o.site_id
JOIN checklist AS k ON k.site_id = s.site_id AND k.taxon_id = t.taxon_id
WHERE e.level = 'expert' AND f.kingdom = 'birds' AND n.kind = 'telescope'
  AND c.continent = 'North America' AND k.status = 'rare';

-- query twelve
SELECT count(*), min(t.name), min(d.name), max(ob.name)
FROM photo AS p
JOIN licence AS l ON l.licence_id = p.licence_id
JOIN observation AS o ON o.observation_id = p.observation_id
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
JOIN observer AS ob ON ob.observer_id = v.observer_id
JOIN membership AS m ON m.observer_id = ob.observer_id
JOIN role AS ro ON ro.role_id = m.role_id
JOIN society AS d ON d.society_id = m.society_id
JOIN country AS c ON c.country_id = d.country_id
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN family AS f ON f.family_id = t.family_id
JOIN site AS s ON s.site_id = v.site_id AND s.site_id = o.site_id
WHERE l.name = 'public domain' AND ro.name = 'member' AND c.continent = 'Europe'
  AND f.kingdom = 'insects' AND s.elevation_m < 400 AND d.field = 'insects';

-- query fourteen
SELECT count(*), min(t.name), min(up.name), max(x.name)
FROM observation AS o
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN taxon AS g ON g.taxon_id = t.parent_id
JOIN family AS f ON f.family_id = g.family_id AND f.family_id = t.family_id
JOIN taxon_trait AS tt ON tt.taxon_id = t.taxon_id
JOIN trait AS x ON x.trait_id = tt.trait_id
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
JOIN observer AS ob ON ob.observer_id = v.observer_id
JOIN observer AS up ON up.observer_id = ob.mentor_id
JOIN site AS s ON s.site_id = o.site_id AND s.site_id = v.site_id
JOIN city AS ci ON ci.city_id = s.city_id
JOIN country AS c ON c.country_id = ci.country_id AND c.country_id = s.country_id
JOIN instrument AS n ON n.instrument_id = o.instrument_id
JOIN maker AS m ON m.maker_id = n.maker_id
WHERE x.category = 'diet' AND tt.strength > 3 AND f.kingdom = 'mammals' AND c.continent = 'Europe'
  AND n.kind = 'digital camera' AND v.weather IN ('clear', 'cloudy') AND up.level = 'expert';

-- query seventeen
SELECT count(*), min(t.name), max(s.name), min(m.name), max(d.name)
FROM observation AS o
JOIN identification AS i ON i.observation_id = o.observation_id
JOIN taxon AS t ON t.taxon_id = o.taxon_id
JOIN taxon AS u ON u.taxon_id = i.taxon_id
JOIN family AS f ON f.family_id = t.family_id AND f.family_id = u.family_id
JOIN observer AS e ON e.observer_id = i.observer_id
JOIN country AS home ON home.country_id = e.country_id
JOIN visit AS v ON v.site_id = o.site_id AND v.visit_no = o.visit_no
JOIN observer AS ob ON ob.observer_id = v.observer_id
JOIN membership AS b ON b.observer_id = ob.observer_id
JOIN society AS d ON d.society_id = b.society_id
JOIN site AS s ON s.site_id = o.site_id AND s.site_id = v.site_id
JOIN city AS ci ON ci.city_id = s.city_id
JOIN region AS r ON r.region_id = ci.region_id
JOIN country AS c ON c.country_id = r.country_id AND c.country_id = s.country_id
JOIN instrument AS n ON n.instrument_id = o.instrument_id
JOIN maker AS m ON m.maker_id = n.maker_id
WHERE home.continent = 'Asia' AND c.continent = 'Europe' AND r.kind = 'coast'
  AND f.kingdom IN ('birds', 'fish') AND d.field = 'birds' AND n.made_year > 2005
  AND o.quality = 'verified' AND v.month BETWEEN 4 AND 9;
