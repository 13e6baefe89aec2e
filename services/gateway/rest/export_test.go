package rest

// MaxCallBytes bounds the JSON body of a call.
const MaxCallBytes = maxCallBytes
