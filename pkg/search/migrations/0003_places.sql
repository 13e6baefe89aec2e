-- Where on its page a word stands: bit n for the n-th word, counted round after 64. Words of a phrase have bits beside each other, which rules out most
-- pages that have them apart. Rows from before this column rule nothing out.
ALTER TABLE words ADD COLUMN places UInt64 DEFAULT toUInt64(18446744073709551615);
