module inkstream.dev/services/standalone

go 1.26.0
