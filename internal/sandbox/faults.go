package sandbox

import (
	"maps"
	"sync"

	"herald/internal/notification"
)

// faults holds the fault of each channel that has one.
type faults struct {
	mu sync.Mutex
	of map[notification.Channel]Fault
}

func newFaults() *faults { return &faults{of: map[notification.Channel]Fault{}} }

// strike returns the fault that hits the next request on a channel, if one does.
func (f *faults) strike(channel notification.Channel) (Fault, bool) {
	f.mu.Lock()
	fault, ok := f.of[channel]
	f.mu.Unlock()
	return fault, ok && fault.hits()
}

func (f *faults) set(channel notification.Channel, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of[channel] = fault
}

func (f *faults) clear(channels ...notification.Channel) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, channel := range channels {
		delete(f.of, channel)
	}
}

// all returns a copy.
func (f *faults) all() map[notification.Channel]Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.of)
}
