-- Audit trails, one row an event; that with the highest version counts. Deleted rows hide what is below them; a tombstone stays when its job is removed.
-- Times are microseconds since 1970.
CREATE TABLE IF NOT EXISTS events (
	tenant String, jid UInt64, id String, job String, version UInt64, deleted UInt8, tombstone UInt8, expire DateTime,
	sequence UInt64, type String, run UInt32, stage String, page UInt32, code String, time Int64,
	attribute_keys Array(String), attribute_values Array(String)
) ENGINE = ReplacingMergeTree(version) ORDER BY (tenant, jid, id)
{{if .TTL}}TTL expire{{end}}
SETTINGS index_granularity = 1024{{if .Fsync}}, fsync_after_insert = 1, fsync_part_directory = 1{{end}};

-- What each stage did for the job: when it was done, and durations in microseconds.
ALTER TABLE documents ADD COLUMN lane String;

ALTER TABLE documents ADD COLUMN stages Array(String);

ALTER TABLE documents ADD COLUMN stage_ends Array(Int64);

ALTER TABLE documents ADD COLUMN stage_units Array(Int64);

ALTER TABLE documents ADD COLUMN stage_busy Array(Int64);

ALTER TABLE documents ADD COLUMN stage_elapsed Array(Int64);
