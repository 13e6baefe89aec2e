module inkstream.dev/services/index

go 1.26.0
