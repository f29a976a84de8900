-- How fast the processor was before a slice.
ALTER TABLE slice ADD COLUMN canary_ns REAL;
