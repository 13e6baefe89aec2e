module inkstream.dev/services/ingest

go 1.26.0
