-- The order in which experiments and trials were stored: clocks go backwards, and their texts do not sort.
ALTER TABLE experiment ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
-- Without the Z at the end, a time sorts before the fractions of its second.
UPDATE experiment SET sequence = sorted.place
FROM (SELECT id, row_number() OVER (ORDER BY rtrim(created_at, 'Z'), id) AS place FROM experiment) AS sorted
WHERE sorted.id = experiment.id;
CREATE UNIQUE INDEX experiment_sequence ON experiment (sequence);

ALTER TABLE trial ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
UPDATE trial SET sequence = sorted.place
FROM (SELECT id, row_number() OVER (ORDER BY rtrim(started_at, 'Z'), id) AS place FROM trial) AS sorted
WHERE sorted.id = trial.id;
CREATE UNIQUE INDEX trial_sequence ON trial (sequence);
