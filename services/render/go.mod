module inkstream.dev/services/render

go 1.26.0
