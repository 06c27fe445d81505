package console

import "time"

// SetClock sets the time of the console.
func (c *Console) SetClock(now func() time.Time) { c.now = now }

// SetSearched sets the number of rows that one page of a list searches.
func (c *Console) SetSearched(rows int) { c.searched = rows }
