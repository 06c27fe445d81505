package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"herald/internal/notification"
)

// Hub holds the sockets of a gateway.
type Hub struct {
	Config
	times
	metrics  metrics
	acks     *acknowledgements
	catchUps chan *socket        // sockets that wait for a reader of pages
	pages    *semaphore.Weighted // limits the bytes of held pages
	failed   rate.Sometimes

	life    context.Context // ends when the hub has drained
	stop    context.CancelFunc
	running sync.WaitGroup

	mu       sync.RWMutex
	rooms    map[notification.RecipientKey]*room
	count    int // number of sockets, including sockets being opened
	draining bool
	empty    chan struct{} // closed when the hub drains and the last socket has closed
}

// room holds the sockets of a recipient.
type room struct {
	count   int // including sockets being opened
	sockets []*socket
	pages   *rate.Limiter
}

// failureInterval is the minimum time between two log lines about failed catch-ups. While the
// database is down, the catch-ups of all sockets fail repeatedly.
const failureInterval = 30 * time.Second

// NewHub starts a hub, which runs until [Hub.Drain] returns.
func NewHub(cfg Config) (*Hub, error) { return newHub(cfg, usual) }

func newHub(cfg Config, times times) (*Hub, error) {
	h := &Hub{
		Config:   cfg,
		times:    times,
		catchUps: make(chan *socket, cfg.MaxSockets),
		pages:    semaphore.NewWeighted(heldPages),
		rooms:    map[notification.RecipientKey]*room{},
		empty:    make(chan struct{}),
		failed:   rate.Sometimes{Interval: failureInterval},
	}
	h.life, h.stop = context.WithCancel(context.Background())
	h.acks = newAcknowledgements(h)
	if err := h.metrics.register(cfg.Meter, h.open); err != nil {
		return nil, fmt.Errorf("set up metrics of sockets: %w", err)
	}
	for range catchUpsAtOnce {
		h.running.Go(h.readPages)
	}
	h.running.Go(func() { h.every(h.tick, h.look) })
	h.running.Go(func() { h.every(h.activity, h.cutOffInactive) })
	h.running.Go(h.acks.run)
	return h, nil
}

// every calls do at each interval until the hub stops.
func (h *Hub) every(interval time.Duration, do func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do()
		case <-h.life.Done():
			return
		}
	}
}

var (
	errDraining  = errors.New("this gateway is about to stop")
	errFull      = errors.New("this gateway has no room for another socket: try again later")
	errTooMany   = errors.New("you have too many sockets: close one")
	retrySeconds = "2"
)

// reserve counts a socket to be opened, or returns an error if there are too many.
func (h *Hub) reserve(who notification.RecipientKey) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[who]
	switch {
	case h.draining:
		return errDraining
	case r != nil && r.count >= h.MaxSocketsPerRecipient:
		return errTooMany
	case h.count >= h.MaxSockets:
		return errFull
	case r == nil:
		r = &room{pages: rate.NewLimiter(pagesPerSecond, pagesInARow)}
		h.rooms[who] = r
	}
	r.count++
	h.count++
	return nil
}

// add adds a socket that reserve has counted. From now on the socket gets messages.
func (h *Hub) add(s *socket) {
	h.mu.Lock()
	r := h.rooms[s.who.RecipientKey]
	s.pages = r.pages
	r.sockets = append(r.sockets, s)
	draining := h.draining
	h.mu.Unlock()
	if draining {
		s.cut(restarting)
	}
}

// release undoes reserve and removes the socket; s is nil if no socket was opened.
func (h *Hub) release(who notification.RecipientKey, s *socket) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[who]
	if i := slices.Index(r.sockets, s); i >= 0 {
		r.sockets = slices.Delete(r.sockets, i, i+1)
	}
	if r.count--; r.count == 0 {
		delete(h.rooms, who)
	}
	if h.count--; h.count == 0 && h.draining {
		close(h.empty)
	}
}

// open returns the number of sockets.
func (h *Hub) open() int {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.count
}

// all returns a copy of the list of open sockets.
func (h *Hub) all() []*socket {
	h.mu.RLock()
	defer h.mu.RUnlock()
	sockets := make([]*socket, 0, h.count)
	for _, r := range h.rooms {
		sockets = append(sockets, r.sockets...)
	}
	return sockets
}
