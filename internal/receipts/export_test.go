package receipts

import "time"

// What the tests use besides the package's own names.
var (
	SignedBySendGrid = signedBySendGrid
	SignedByTwilio   = signedByTwilio
	ParseEvents      = parseEvents
	ParseStatus      = parseStatus
	ParseAnswer      = parseAnswer
	Answerable       = answerable
	WithoutAddress   = withoutAddress
)

// SetClock lets a room know another time.
func (w *Webhooks) SetClock(now time.Time) { w.now = func() time.Time { return now } }
