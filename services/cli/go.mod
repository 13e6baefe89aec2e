module inkstream.dev/services/cli

go 1.26.0
