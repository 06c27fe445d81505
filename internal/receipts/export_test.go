package receipts

import (
	"net/http"
	"time"
)

// What the tests use besides the package's own names.
var (
	SignedBySendGrid = signedBySendGrid
	SignedByTwilio   = signedByTwilio
	SignTwilio       = signTwilio
	ParseEvents      = parseEvents
	ParseStatus      = parseStatus
	ParseAnswer      = parseAnswer
	Answerable       = answerable
	WithoutAddress   = withoutAddress
)

// SetClock lets a room know another time.
func (w *Webhooks) SetClock(now time.Time) { w.now = func() time.Time { return now } }

// CheckSendGrid is what a request goes through first.
func (w *Webhooks) CheckSendGrid(header http.Header, body []byte) error {
	return w.checkSendGrid(header, body)
}
