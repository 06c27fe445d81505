package sandbox

import (
	"container/heap"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

const (
	maxWaiting   = 100_000   // receipts; more are lost
	maxPosts     = 8         // requests in flight
	batchLimit   = 768 << 10 // bytes in a batch of events; SendGrid's limit
	courierGrace = 5 * time.Second
)

// receipt is one report of a provider about a message. Either event is set, which SendGrid
// sends in a batch, or post, which is one callback of Twilio.
type receipt struct {
	due   time.Time
	event json.RawMessage
	post  *post
}

// again returns a copy of the receipt that is due `after` later.
func (r receipt) again(after time.Duration) receipt {
	r.due = r.due.Add(after)
	if r.post != nil {
		copied := *r.post // each copy counts its own attempts
		r.post = &copied
	}
	return r
}

type message interface {
	// receipts returns the provider's receipts in order, for a message accepted at now.
	receipts(settings Receipts, now time.Time) []receipt
}

// courier sends receipts to the gateway when they are due.
type courier struct {
	gateway  string // scheme and host; empty: no receipts are sent
	key      *ecdsa.PrivateKey
	settings receiptSettings
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
	c := &courier{gateway: gateway, key: key, settings: receiptSettings{receipts: settings}, woken: make(chan struct{}, 1), end: end, cut: cut, client: &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: maxPosts, IdleConnTimeout: time.Minute},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
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
	settings := c.settings.get()
	c.add(settings.disturb(m.receipts(settings, time.Now()))...)
}

func (c *courier) add(receipts ...receipt) {
	c.mu.Lock()
	for _, r := range receipts {
		switch {
		case len(c.events)+len(c.posts) >= maxWaiting:
			c.lose()
		case r.post != nil:
			heap.Push(&c.posts, r)
		default:
			heap.Push(&c.events, r)
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

// run sends the posts that are due. It takes the next post only when fewer than maxPosts are
// in flight, so that batches grow while the gateway is slow.
func (c *courier) run(waiting, requests context.Context) {
	places := make(chan struct{}, maxPosts)
	for {
		select {
		case places <- struct{}{}:
		case <-waiting.Done():
			return
		}
		p := c.next(waiting)
		if p == nil {
			return
		}
		c.ended.Go(func() {
			defer func() { <-places }()
			c.deliver(requests, p)
		})
	}
}

// next waits for the next due post. It returns nil when ctx has ended.
func (c *courier) next(ctx context.Context) *post {
	for ctx.Err() == nil {
		p, after := c.take(time.Now())
		if p != nil {
			return p
		}
		select {
		case <-ctx.Done():
		case <-time.After(after):
		case <-c.woken:
		}
	}
	return nil
}

// take returns the first due post, or nil and the time until one is due.
func (c *courier) take(now time.Time) (*post, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	event, post := c.events.due(), c.posts.due()
	switch {
	case post.Before(event) && !post.After(now):
		return heap.Pop(&c.posts).(receipt).post, 0
	case !event.After(now):
		return c.batch(now), 0
	case post.Before(event):
		return nil, post.Sub(now)
	default:
		return nil, event.Sub(now)
	}
}

// batch takes the due events, up to batchLimit. The caller holds the lock.
func (c *courier) batch(now time.Time) *post {
	var events []json.RawMessage
	for size := 0; size < batchLimit && !c.events.due().After(now); {
		event := heap.Pop(&c.events).(receipt).event
		size += len(event) + 1
		events = append(events, event)
	}
	p, err := eventPost(c.key, events, now)
	if err != nil {
		panic(err) // crypto/rand does not fail, and openKey checked the key
	}
	return p
}

// deliver sends a post. If it fails, deliver queues it again when the provider would repeat it.
func (c *courier) deliver(ctx context.Context, p *post) {
	if p.attempts == 0 {
		p.began = time.Now()
	}
	p.attempts++
	status, _, err := p.send(ctx, c.client, c.gateway)
	if err == nil && isSuccess(status) {
		c.count(func(counts *receiptCounts) { counts.Taken++ })
		return
	}
	after, again := p.repeats(p.attempts, p.began, status)
	slog.Warn("the gateway did not take a receipt", "status", status, "attempt", p.attempts, "repeated", again)
	if again {
		c.add(receipt{due: time.Now().Add(after), post: p})
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
