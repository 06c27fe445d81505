package sandbox

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
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

// receipt is one report of a provider about a message. Either event is set, which SendGrid
// sends in a batch, or post, which is one callback.
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

// courier sends receipts to the gateway when they are due.
type courier struct {
	gateway  string // scheme and host; empty: no receipts are sent
	key      *ecdsa.PrivateKey
	settings atomic.Pointer[Receipts]
	client   *http.Client

	mu            sync.Mutex
	events, posts queue
	counts        receiptCounts
	full          bool // the log already says that receipts are lost

	woken chan struct{}
	end   context.CancelFunc // stops the loop that waits for receipts
	cut   context.CancelFunc // cancels the requests in flight
	ended sync.WaitGroup
}

// receiptCounts counts receipts by outcome.
type receiptCounts struct {
	Waiting int
	Taken   int // requests that the gateway accepted: batches of events, and callbacks
	Refused int // attempts that the gateway rejected or did not answer
	Lost    int // no room in the queue, or the provider gave up
}

func newCourier(gateway string, key *ecdsa.PrivateKey, settings Receipts) *courier {
	waiting, end := context.WithCancel(context.Background())
	requests, cut := context.WithCancel(context.Background())
	c := &courier{gateway: gateway, key: key, woken: make(chan struct{}, 1), end: end, cut: cut, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: maxPosts, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	c.settings.Store(&settings)
	c.ended.Go(func() { c.run(waiting, requests) })
	return c
}

// close ends the courier. Waiting receipts are lost. Requests in flight get courierGrace to finish.
func (c *courier) close() {
	c.end()
	timer := time.AfterFunc(courierGrace, c.cut)
	c.ended.Wait()
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
	c.add(settings.disturb(m.receipts(settings, time.Now()))...)
}

func (c *courier) add(receipts ...receipt) {
	c.mu.Lock()
	for _, r := range receipts {
		switch {
		case len(c.events)+len(c.posts) >= maxWaiting:
			c.lose()
		case r.post != nil:
			c.posts.add(r)
		default:
			c.events.add(r)
		}
	}
	c.mu.Unlock()
	select {
	case c.woken <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// lose counts a receipt that has no room in the queues. The caller holds the lock.
func (c *courier) lose() {
	c.counts.Lost++
	if !c.full {
		slog.Warn("the sandbox has no room for more receipts: new ones are lost", "waiting", maxWaiting)
	}
	c.full = true
}

// run sends the receipts that are due. It takes the next one only when fewer than maxPosts are
// in flight, so that batches grow while the gateway is slow.
func (c *courier) run(waiting, requests context.Context) {
	places := make(chan struct{}, maxPosts)
	for {
		select {
		case places <- struct{}{}:
		case <-waiting.Done():
			return
		}
		r, ok := c.next(waiting)
		if !ok {
			return
		}
		c.ended.Go(func() {
			defer func() { <-places }()
			c.deliver(requests, r)
		})
	}
}

// next waits for the next receipt that is due, with a post. ok is false when ctx has ended.
func (c *courier) next(ctx context.Context) (r receipt, ok bool) {
	for ctx.Err() == nil {
		r, after := c.take(time.Now())
		if r.post != nil {
			return r, true
		}
		select {
		case <-ctx.Done():
		case <-time.After(after):
		case <-c.woken:
		}
	}
	return r, false
}

// take returns the first receipt that is due, or the time until one is due.
func (c *courier) take(now time.Time) (receipt, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	event, post := c.events.due(), c.posts.due()
	switch {
	case post.Before(event) && !post.After(now):
		return c.posts.pop(), 0
	case !event.After(now):
		return receipt{post: c.batch(now)}, 0
	default:
		return receipt{}, min(post.Sub(now), event.Sub(now))
	}
}

// batch takes the due events, up to batchLimit. The caller holds the lock.
func (c *courier) batch(now time.Time) *post {
	var events []json.RawMessage
	for size := 0; size < batchLimit && !c.events.due().After(now); {
		event := c.events.pop().event
		size += len(event) + 1
		events = append(events, event)
	}
	return eventPost(c.key, events, now)
}

// deliver sends a receipt. If it fails, deliver queues it again when the provider would repeat it.
func (c *courier) deliver(ctx context.Context, r receipt) {
	if r.attempts == 0 {
		r.began = time.Now()
	}
	r.attempts++
	status := r.post.send(ctx, c.client, c.gateway)
	if isSuccess(status) {
		c.count(func(counts *receiptCounts) { counts.Taken++ })
		return
	}
	after, again := r.post.repeats(r.attempts, r.began, status)
	slog.Warn("the gateway did not take a receipt", "status", status, "attempt", r.attempts, "repeated", again)
	if again {
		r.due = time.Now().Add(after)
		c.add(r)
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
	counts := c.counts
	counts.Waiting = len(c.events) + len(c.posts)
	return counts
}

// queue holds receipts. The receipt that is due first is the first.
type queue []receipt

func (q *queue) add(r receipt) {
	i, _ := slices.BinarySearchFunc(*q, r, func(a, b receipt) int {
		if a.due.After(b.due) {
			return 1
		}
		return -1 // it comes after receipts that are due at the same time
	})
	*q = slices.Insert(*q, i, r)
}

func (q *queue) pop() receipt {
	first := (*q)[0]
	(*q)[0] = receipt{} // lets the garbage collector free it
	*q = (*q)[1:]
	return first
}

// due returns the time of the first receipt, or an hour from now for an empty queue.
func (q queue) due() time.Time {
	if len(q) == 0 {
		return time.Now().Add(time.Hour)
	}
	return q[0].due
}
