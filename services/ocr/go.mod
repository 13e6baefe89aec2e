module inkstream.dev/services/ocr

go 1.26.0
