package console

import (
	"maps"
	"slices"
	"time"
)

// The limits of requests in flight.
const MaxInFlight, MaxRefreshing = maxInFlight, maxRefreshing

// Actions returns the actions that some role allows.
func Actions() []string { return slices.Sorted(maps.Keys(allowing)) }

// Patterns returns the patterns of the pages.
func (c *Console) Patterns() []string { return slices.Sorted(maps.Keys(c.pages())) }

// SetClock sets the time of the console.
func (c *Console) SetClock(now func() time.Time) { c.now = now }

// SetSearched sets the number of rows that one page of a list searches.
func (c *Console) SetSearched(rows int) { c.searched = rows }
