-- Pages, the truth of this index. The row of a page with the highest version counts; deleted rows hide what is below them.
-- month is that of the job's id, so that a job's rows all lie in one partition, and removing old jobs touches old partitions only.
-- A granule is small because texts are fetched page by page.
CREATE TABLE IF NOT EXISTS pages (
	month UInt32, tenant String, jid UInt64, page UInt32, job String,
	version UInt64, run UInt32, deleted UInt8, expire DateTime, hash UInt64, language String, text String
) ENGINE = ReplacingMergeTree(version) PARTITION BY month ORDER BY (tenant, jid, page, job)
{{if .TTL}}TTL expire{{end}}
SETTINGS index_granularity = 32{{if .Fsync}}, fsync_after_insert = 1, fsync_part_directory = 1{{end}};

-- Which page has which word: an inverted index that every version of the server can search. It only suggests pages: what is
-- answered is looked up in the table of pages, so that rows that outlive their page do no harm.
CREATE TABLE IF NOT EXISTS words (
	month UInt32, tenant String, word String, jid UInt64, page UInt32,
	version UInt64, weight UInt32, expire DateTime, language String
	{{if .BloomFilter}}, INDEX words_by_job jid TYPE bloom_filter GRANULARITY 4{{end}}
) ENGINE = ReplacingMergeTree(version) PARTITION BY month ORDER BY (tenant, word, jid, page)
{{if .TTL}}TTL expire{{end}}
SETTINGS index_granularity = 2048{{if .Fsync}}, fsync_after_insert = 1, fsync_part_directory = 1{{end}};
