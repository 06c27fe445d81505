package rig

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	// lookInterval is the time between two checks of a condition. It may be long, because figures
	// come from times in the rows.
	lookInterval = 100 * time.Millisecond
	// startTime limits the start of a program.
	startTime = 2 * time.Minute
)

// Await calls done at an interval until it returns true or an error. If ctx ends first, Await returns
// its cause.
func Await(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(interval):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// AwaitAnswer waits until a GET returns 200, or the program has ended.
func AwaitAnswer(ctx context.Context, url string, p *Process) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("%s does not answer within %s", url, startTime))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	return Await(ctx, lookInterval, func() (bool, error) {
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, p.Alive()
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK, p.Alive()
	})
}

// FreeAddress returns an address of this machine that no program uses.
func FreeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
