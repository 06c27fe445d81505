package e2e_test

import (
	"math/rand/v2"
	"net/http"
	"testing"

	"herald/internal/stacktest"
)

// randomShare is a number between a tenth and nine tenths of n.
func randomShare(n int) int { return n/10 + rand.IntN(n*8/10) }

func TestServersDisrupted(t *testing.T) {
	t.Parallel()

	const events = 100
	stack := stacktest.New(t)
	stack.Run(t, "up")
	settings := stack.Settings(t)
	s := newSystemOn(t, servers{settings["DATABASE_URL"], settings["RABBITMQ_URL"], settings["TEMPORAL_ADDRESS"]}, crashTimeouts...)
	s.prepareLoad()
	w := s.startWorker()
	s.starter("poller", "start")

	disruptions := []struct {
		name    string
		disrupt func()
	}{
		{"postgres", func() {
			stack.Run(t, "down", "--immediate", "postgres")
			stack.Run(t, "up", "postgres")
		}},
		{"rabbitmq", func() {
			stack.Run(t, "down", "rabbitmq")
			s.eventually(func() bool { return w.ready() == http.StatusServiceUnavailable }, "the worker does not notice the outage")
			stack.Run(t, "up", "rabbitmq")
		}},
		{"temporal", func() {
			stack.Run(t, "down", "temporal")
			stack.Run(t, "up", "temporal")
		}},
	}
	var rounds []string
	for i, d := range disruptions {
		s.writeEvents(d.name, events)
		target := i*events*loadChannels + randomShare(events*loadChannels)
		s.eventually(func() bool {
			return s.count(`SELECT count(*) FROM notification WHERE status = 'SENT'`) >= target
		}, "%s: %d deliveries were never reached", d.name, target)
		d.disrupt()
		rounds = append(rounds, d.name)
		s.waitForLoad((i + 1) * events)
	}
	// Only sends that were under way when a server died may be repeated.
	s.requireLedger(rounds, events, len(disruptions)*slots)
	s.requirePublished(len(rounds) * events)
}
