module inkstream.dev/services/scan

go 1.26.0
