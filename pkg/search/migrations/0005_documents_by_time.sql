-- Documents in the order of lists. The server fills it from documents, row by row; a document that gets another time, or is deleted, leaves a deleted row at
-- its former one.
CREATE TABLE IF NOT EXISTS documents_by_time (
	tenant String, create_time Int64, jid UInt64, job String, version UInt64, deleted UInt8, expire DateTime,
	filename String, folded String, sha256 String, page_count UInt32, state String, end_time Int64,
	label_keys Array(String), label_values Array(String)
) ENGINE = ReplacingMergeTree(version) ORDER BY (tenant, create_time, jid, job)
{{if .TTL}}TTL expire{{end}}
SETTINGS index_granularity = 256{{if .Fsync}}, fsync_after_insert = 1, fsync_part_directory = 1{{end}};

CREATE MATERIALIZED VIEW IF NOT EXISTS documents_to_time TO documents_by_time AS
	SELECT tenant, create_time, jid, job, version, deleted, expire, filename, folded, sha256, page_count, state, end_time, label_keys, label_values
	FROM documents;

-- Those from before the view, each in its latest version.
INSERT INTO documents_by_time (tenant, create_time, jid, job, version, deleted, expire, filename, folded, sha256, page_count, state, end_time, label_keys,
	label_values)
	SELECT tenant, create_time, jid, job, version, deleted, expire, filename, folded, sha256, page_count, state, end_time, label_keys, label_values
	FROM documents ORDER BY version DESC LIMIT 1 BY tenant, jid, job;
