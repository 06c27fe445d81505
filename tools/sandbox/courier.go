package sandbox

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxWaiting   = 100_000   // receipts; more are lost
	maxPosts     = 8         // requests in flight
	batchLimit   = 768 << 10 // bytes in a batch of events; SendGrid's limit
	courierGrace = 5 * time.Second
)

// receipt is one report of a provider about a message. It has either an event, which SendGrid sends in a
// batch, or a post, which is one callback.
type receipt struct {
	due   time.Time
	event json.RawMessage
	post  *post

	attempts int
	began    time.Time // of the first attempt
}

type message interface {
	// receipts returns the provider's receipts in order, for a message accepted at now.
	receipts(settings Receipts, now time.Time) []receipt
}

// courier sends receipts to the gateway when they are due. Each receipt has a timer. While all places
// are taken, due events accumulate, so batches grow while the gateway is slow.
type courier struct {
	gateway  string // scheme and host; empty: no receipts are sent
	key      *ecdsa.PrivateKey
	settings atomic.Pointer[Receipts]
	client   *http.Client

	places   chan struct{} // one for each request in flight
	closed   chan struct{}
	close    func() // ends the courier. Waiting receipts are lost
	requests context.Context
	cut      context.CancelFunc // cancels the requests in flight

	mu     sync.Mutex
	events []json.RawMessage // due, and in no batch yet
	counts receiptCounts
	full   bool // the loss of receipts is already logged
}

// receiptCounts counts receipts by outcome.
type receiptCounts struct {
	Waiting int
	Taken   int // requests that the gateway accepted: batches of events, and callbacks
	Refused int // attempts that the gateway rejected or did not answer
	Lost    int // receipts that were dropped because too many waited, or that the provider gave up
}

func newCourier(gateway string, key *ecdsa.PrivateKey, settings Receipts) *courier {
	c := &courier{gateway: gateway, key: key, places: make(chan struct{}, maxPosts), closed: make(chan struct{}), client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: maxPosts, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.requests, c.cut = context.WithCancel(context.Background())
	c.settings.Store(&settings)
	c.close = sync.OnceFunc(c.end)
	return c
}

// end gives the requests in flight courierGrace to finish.
func (c *courier) end() {
	close(c.closed)
	timer := time.AfterFunc(courierGrace, c.cut)
	for range maxPosts { // take all places, so that no new request starts
		c.places <- struct{}{}
	}
	timer.Stop()
	c.cut()
	c.client.CloseIdleConnections()
	if waiting := c.counted().Waiting; waiting > 0 {
		slog.Warn("the sandbox ends before it has sent all receipts", "lost", waiting)
	}
}

// announce schedules the receipts of a message that the sandbox has just accepted.
func (c *courier) announce(m message) {
	if c.gateway == "" {
		return
	}
	settings := *c.settings.Load()
	for _, r := range settings.disturb(m.receipts(settings, time.Now())) {
		c.schedule(r)
	}
}

// schedule sends a receipt when it is due, unless too many wait.
func (c *courier) schedule(r receipt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts.Waiting < maxWaiting {
		c.counts.Waiting++
		time.AfterFunc(time.Until(r.due), func() { c.send(r) })
		return
	}
	c.counts.Lost++
	if !c.full {
		slog.Warn("the sandbox has no room for more receipts: new ones are lost", "waiting", maxWaiting)
	}
	c.full = true
}

// send sends a receipt that is due. An event is sent with all other due events.
func (c *courier) send(r receipt) {
	if r.post == nil {
		c.mu.Lock()
		c.events = append(c.events, r.event)
		c.mu.Unlock()
	}
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-c.closed:
		return
	}
	if r = c.take(r); r.post != nil {
		c.deliver(r)
	}
}

// take takes a callback, or a batch of due events up to batchLimit. The batch is nil if another request has
// taken all events.
func (c *courier) take(r receipt) receipt {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.post != nil {
		c.counts.Waiting--
		return r
	}
	n := 0
	for size := 0; n < len(c.events) && size < batchLimit; n++ {
		size += len(c.events[n]) + 1
	}
	if n > 0 {
		r.post = eventPost(c.key, c.events[:n], time.Now())
	}
	c.events = c.events[n:]
	c.counts.Waiting -= n
	return r
}

// deliver sends a receipt. If it fails, deliver schedules it again when the provider would repeat it.
func (c *courier) deliver(r receipt) {
	if r.attempts == 0 {
		r.began = time.Now()
	}
	r.attempts++
	status := r.post.send(c.requests, c.client, c.gateway)
	if isSuccess(status) {
		c.count(func(counts *receiptCounts) { counts.Taken++ })
		return
	}
	after, again := r.post.repeats(r.attempts, r.began, status)
	slog.Warn("the gateway did not take a receipt", "status", status, "attempt", r.attempts, "repeated", again)
	if again {
		r.due = time.Now().Add(after)
		c.schedule(r)
	}
	c.count(func(counts *receiptCounts) {
		counts.Refused++
		if !again {
			counts.Lost++
		}
	})
}

func (c *courier) count(change func(*receiptCounts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(&c.counts)
}

// counted returns the current counts.
func (c *courier) counted() receiptCounts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}
