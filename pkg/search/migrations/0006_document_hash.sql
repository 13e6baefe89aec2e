-- Tells whether a document is stored as it is; 0 in rows that do not say.
ALTER TABLE documents ADD COLUMN hash UInt64;
