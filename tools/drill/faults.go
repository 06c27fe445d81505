package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// fault is a way to break one part of the installation.
type fault struct {
	Target, Kind string
	Break, Mend  func(ctx context.Context) error
}

// played is a fault that the run caused.
type played struct {
	Target, Kind string
	At           time.Duration // since the start of the load
	Length       time.Duration // until the fault was mended, including a restart
	Err          error         // why it could not be broken or mended
}

// lane causes its faults one after another: each fault once in a random order, then each again. The
// order, the lengths and the pauses depend only on the seed.
type lane struct {
	faults []fault
	random *rand.Rand
}

// Lengths and pauses, before a random part of the same length is added.
const (
	faultLength = 3 * time.Second
	faultPause  = 3 * time.Second
)

// longestFault is the maximum length of a fault, without the time to mend it.
const longestFault = 3 * faultLength

// run breaks and mends until ctx ends. It mends the last fault, too.
func (l *lane) run(ctx context.Context, began time.Time, played func(played)) {
	for len(l.faults) > 0 {
		for _, i := range l.random.Perm(len(l.faults)) {
			length := faultLength + time.Duration(l.random.Int64N(int64(longestFault-faultLength)))
			pause := faultPause + time.Duration(l.random.Int64N(int64(faultPause)))
			if !sleep(ctx, pause) {
				return
			}
			played(l.faults[i].play(ctx, began, length))
		}
	}
}

func (f fault) play(ctx context.Context, began time.Time, length time.Duration) played {
	p := played{Target: f.Target, Kind: f.Kind, At: time.Since(began)}
	p.Err = f.Break(context.WithoutCancel(ctx))
	sleep(ctx, length)
	if err := f.Mend(context.WithoutCancel(ctx)); err != nil {
		p.Err = err
	}
	p.Length = time.Since(began) - p.At
	return p
}

// sleep returns false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// runOnce causes each timed fault once, and mends it.
func runOnce(ctx context.Context, faults []timed, began time.Time, played func(played)) {
	for _, f := range faults {
		if !sleep(ctx, f.at-time.Since(began)) {
			return
		}
		played(f.play(ctx, began, faultLength))
	}
}

// disrupt runs the lanes until ctx ends, and the timed faults, and returns the faults in the order of
// their ends.
func disrupt(ctx context.Context, lanes []*lane, once []timed, say func(string, ...any)) []played {
	began := time.Now()
	var all []played
	var mu sync.Mutex
	var group sync.WaitGroup
	note := func(p played) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, p)
		say("%s", p)
	}
	for _, l := range lanes {
		group.Go(func() { l.run(ctx, began, note) })
	}
	group.Go(func() { runOnce(ctx, once, began, note) })
	group.Wait()
	return all
}

func (p played) String() string {
	text := fmt.Sprintf("%-6s %s for %s", p.Kind, p.Target, p.Length.Round(100*time.Millisecond))
	if p.Err != nil {
		text += ": " + p.Err.Error()
	}
	return text
}
