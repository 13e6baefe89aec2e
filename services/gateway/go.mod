module inkstream.dev/services/gateway

go 1.26.0
