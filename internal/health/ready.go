package health

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Need is a check that a ready process passes.
type Need struct {
	Name string
	Down string // the text of /readyz after a failure; the error is only logged, because it may contain an address
	Run  func(context.Context) error
}

const (
	// checkTimeout limits each check.
	checkTimeout = 3 * time.Second
	// readyFor is the time for which an answer of /readyz is reused, so that many requests do not
	// cause more checks.
	readyFor = time.Second
	// logInterval is the shortest time between two log lines of one check.
	logInterval = time.Minute
)

// readiness serves /readyz: 200, or 503 if a check fails. The body has the result of each check.
// Concurrent requests share one run of the checks.
type readiness struct {
	checks []Need

	mu     sync.Mutex
	looked time.Time                  // when the checks last ran; zero: never
	ready  bool                       // all checks passed
	answer map[string]string          // by check: ok, or the text for its failure
	logs   map[string]*rate.Sometimes // by check: limits the log lines
}

func newReadiness(checks []Need) *readiness {
	r := &readiness{checks: checks, logs: map[string]*rate.Sometimes{}}
	for _, c := range checks {
		r.logs[c.Name] = &rate.Sometimes{Interval: logInterval}
	}
	return r
}

func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	ready, answer := r.look()
	w.Header().Set("Content-Type", "application/json")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// look runs the checks, unless they ran within readyFor. Other requests may wait for the same
// checks, up to 3 s, so the checks do not use the context of one request.
func (r *readiness) look() (bool, map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.looked.IsZero() && time.Since(r.looked) < readyFor {
		return r.ready, r.answer
	}
	failed := make([]error, len(r.checks))
	var looking sync.WaitGroup
	for i, c := range r.checks {
		looking.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
			defer cancel()
			failed[i] = c.Run(ctx)
		})
	}
	looking.Wait()
	r.looked, r.ready, r.answer = time.Now(), true, map[string]string{}
	for i, c := range r.checks {
		r.answer[c.Name] = "ok"
		if failed[i] != nil {
			r.ready, r.answer[c.Name] = false, c.Down
			r.logs[c.Name].Do(func() { slog.Warn("not ready", "check", c.Name, "error", failed[i]) })
		}
	}
	return r.ready, r.answer
}
