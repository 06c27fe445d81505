package receipts

import "time"

// Unexported functions for the tests.
var (
	SignedBySendGrid = signedBySendGrid
	SignedByTwilio   = signedByTwilio
	ParseReport      = parseReport
	ParseEvents      = parseEvents
	ParseStatus      = parseStatus
	ParseAnswer      = parseAnswer
	Answerable       = answerable
	WithoutAddress   = withoutAddress
)

// SetBodyTimeout sets the time limit for reading a body.
func (w *Webhooks) SetBodyTimeout(timeout time.Duration) { w.bodyTimeout = timeout }
