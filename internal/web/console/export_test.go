package console

import "time"

// SetClock sets the time of the console.
func (c *Console) SetClock(now func() time.Time) { c.now = now }
