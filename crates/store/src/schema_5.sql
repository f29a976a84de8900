-- What others took of the machine during a slice.
ALTER TABLE slice ADD COLUMN others_cpu_us REAL;
ALTER TABLE slice ADD COLUMN steal_us REAL;
