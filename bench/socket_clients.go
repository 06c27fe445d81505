package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
)

// socketClients are sockets, and when each message was published and came.
type socketClients struct {
	acknowledge bool
	stop        context.CancelFunc
	life        context.Context
	arrived     chan struct{} // has something after an arrival

	mu        sync.Mutex
	conns     []*websocket.Conn
	published map[int64]time.Time
	took      map[int64]time.Duration
	repeated  int
}

func newSocketClients(acknowledge bool) *socketClients {
	c := &socketClients{acknowledge: acknowledge, arrived: make(chan struct{}, 1), published: map[int64]time.Time{}, took: map[int64]time.Duration{}}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

// open opens n sockets. Those of the gateway ask for what they missed, as a page does.
func (c *socketClients) open(ctx context.Context, n int, server *socketServer) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(64)
	for i := range n {
		group.Go(func() error {
			url, protocols := server.address(strconv.Itoa(i))
			conn, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{Subprotocols: protocols})
			if err != nil {
				return fmt.Errorf("open socket %d: %w", i, err)
			}
			c.mu.Lock()
			c.conns = append(c.conns, conn)
			c.mu.Unlock()
			go c.read(conn)
			if c.acknowledge {
				return conn.Write(ctx, websocket.MessageText, []byte(`{"type":"after"}`))
			}
			return nil
		})
	}
	return group.Wait()
}

func (c *socketClients) read(conn *websocket.Conn) {
	for {
		_, body, err := conn.Read(c.life)
		if err != nil {
			return
		}
		came := time.Now()
		var message struct {
			ID int64 `json:"notification_id"`
		}
		if json.Unmarshal(body, &message) != nil || message.ID == 0 {
			continue
		}
		c.came(message.ID, came)
		if c.acknowledge {
			_ = conn.Write(c.life, websocket.MessageText, fmt.Appendf(nil, `{"type":"ack","id":%d}`, message.ID))
		}
	}
}

func (c *socketClients) publishes(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.published[id] = time.Now()
}

func (c *socketClients) came(id int64, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, twice := c.took[id]; twice {
		c.repeated++
		return
	}
	c.took[id] = at.Sub(c.published[id])
	select {
	case c.arrived <- struct{}{}:
	default:
	}
}

// await waits until n messages have come, or none has for ten seconds.
func (c *socketClients) await(n int) {
	for {
		c.mu.Lock()
		count := len(c.took)
		c.mu.Unlock()
		if count >= n {
			return
		}
		select {
		case <-c.arrived:
		case <-time.After(10 * time.Second):
			return
		}
	}
}

func (c *socketClients) results() (took []time.Duration, repeated int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.took {
		took = append(took, t)
	}
	return took, c.repeated
}

func (c *socketClients) close() {
	c.stop()
	for _, conn := range c.conns {
		_ = conn.CloseNow()
	}
}
