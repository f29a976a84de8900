DROP TABLE slice;
DROP TABLE measure;
CREATE VIEW measure AS
    SELECT trial, 'counter' AS kind, key AS name, value FROM measures, json_each(counters)
    UNION ALL SELECT trial, 'gauge', key, value FROM measures, json_each(gauges);
