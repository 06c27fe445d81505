package receipts

import "time"

// SetBodyTimeout sets the time limit for reading a body.
func (w *Webhooks) SetBodyTimeout(timeout time.Duration) { w.bodyTimeout = timeout }
