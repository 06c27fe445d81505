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

// Need is one thing that a ready process needs.
type Need struct {
	Name string
	Down string // what /readyz says where it fails; the error may hold an address and goes to the log
	Run  func(context.Context) error
}

const (
	// checkTimeout bounds each check.
	checkTimeout = 3 * time.Second
	// readyFor is the time that an answer of /readyz is given again, so that the servers
	// are not asked more often, however many requests come.
	readyFor = time.Second
	// logInterval is the least time between two lines in the log about one check.
	logInterval = time.Minute
)

// readiness answers /readyz: 200, or 503 with the names of what does not answer.
// However many ask at once, the checks run once.
type readiness struct {
	checks []Need

	mu     sync.Mutex
	looked time.Time                  // when the answer was found; zero: never
	ready  bool                       // all checks passed
	answer map[string]string          // by check: ok, or what is wrong
	logs   map[string]*rate.Sometimes // by check: when its failure is logged
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

// look runs the checks, unless that was done within readyFor. Other requests wait
// for the same answer, 3 s at most. So the checks do not use a request's context.
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
