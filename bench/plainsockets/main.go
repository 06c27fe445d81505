// Command plainsockets is the least that hands messages of a broker to sockets. The
// benchmark of sockets compares the gateway with it: there is no sign-in, no table, no
// limit, no catch-up and no acknowledgement, and a client that reads slowly holds up all.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"sync"

	"github.com/coder/websocket"
	amqp "github.com/rabbitmq/amqp091-go"
)

// sockets has one for each user.
type sockets struct {
	mu     sync.Mutex
	byUser map[string]*websocket.Conn
}

const exchange = "notifications.exchange"

func main() {
	s := &sockets{byUser: map[string]*websocket.Conn{}}
	messages, err := subscribe(os.Getenv("RABBITMQ_URL"))
	if err != nil {
		log.Fatal(err)
	}
	go s.deliver(messages)
	listener, err := net.Listen("tcp", os.Getenv("GATEWAY_HTTP_ADDR"))
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.Serve(listener, http.HandlerFunc(s.serve)))
}

func subscribe(url string) (<-chan amqp.Delivery, error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, err
	}
	ch, err := conn.Channel()
	if err != nil {
		return nil, err
	}
	if err := ch.ExchangeDeclare(exchange, "topic", true, false, false, false, nil); err != nil {
		return nil, err
	}
	queue, err := ch.QueueDeclare("", false, true, true, false, nil)
	if err != nil {
		return nil, err
	}
	if err := ch.QueueBind(queue.Name, "notification.websocket.#", exchange, false, nil); err != nil {
		return nil, err
	}
	return ch.Consume(queue.Name, "", true, true, false, false, nil)
}

func (s *sockets) deliver(messages <-chan amqp.Delivery) {
	for m := range messages {
		var to struct {
			UserID string `json:"user_id"`
		}
		if json.Unmarshal(m.Body, &to) != nil {
			continue
		}
		s.mu.Lock()
		conn := s.byUser[to.UserID]
		s.mu.Unlock()
		if conn != nil {
			_ = conn.Write(context.Background(), websocket.MessageText, m.Body)
		}
	}
}

func (s *sockets) serve(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	s.mu.Lock()
	s.byUser[r.URL.Query().Get("user")] = conn
	s.mu.Unlock()
	for {
		if _, _, err := conn.Read(context.Background()); err != nil {
			return
		}
	}
}
