package receipts

import "time"

// What the tests use in addition to the package's own names.
var (
	SignedBySendGrid = signedBySendGrid
	SignedByTwilio   = signedByTwilio
	ParseEvents      = parseEvents
	ParseStatus      = parseStatus
	ParseAnswer      = parseAnswer
	Answerable       = answerable
	WithoutAddress   = withoutAddress
)

// SetBodyTimeout sets how long the webhooks wait for a body.
func (w *Webhooks) SetBodyTimeout(timeout time.Duration) { w.bodyTimeout = timeout }
