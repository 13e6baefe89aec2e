-- Documents, one row a job; that with the highest version counts. Times are microseconds since 1970, 0 for none.
CREATE TABLE IF NOT EXISTS documents (
	tenant String, jid UInt64, job String, version UInt64, deleted UInt8, expire DateTime,
	filename String, folded String, sha256 String, page_count UInt32, state String, create_time Int64, end_time Int64,
	label_keys Array(String), label_values Array(String)
) ENGINE = ReplacingMergeTree(version) ORDER BY (tenant, jid, job)
{{if .TTL}}TTL expire{{end}}
SETTINGS index_granularity = 1024{{if .Fsync}}, fsync_after_insert = 1, fsync_part_directory = 1{{end}};

-- Jobs whose rows are hidden and wait to be taken off the disk: pages up to a version, the document up to another.
CREATE TABLE IF NOT EXISTS removals (
	tenant String, jid UInt64, job String, month UInt32, version UInt64, document UInt64, done UInt8, removed DateTime
) ENGINE = ReplacingMergeTree(done) ORDER BY (tenant, jid, job, month, version, document)
SETTINGS index_granularity = 1024;
