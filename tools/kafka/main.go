// Command kafka is the local Kafka: one broker on this machine's loopback address. It speaks
// Kafka's protocol and keeps its data in a folder, even after a kill. It is franz-go's kfake,
// which is made for tests and replicates nothing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Settings holds the broker's ports and folder.
type Settings struct {
	Port       int
	Advertised int    // the port that the broker advertises to clients; 0: Port
	Data       string // folder of topics and records
}

const askTimeout = 5 * time.Second

func main() {
	var s Settings
	flag.IntVar(&s.Port, "port", 9092, "port of the broker")
	flag.IntVar(&s.Advertised, "advertise", 0, "port to advertise to clients, such as a proxy's; 0: the port of the broker")
	flag.StringVar(&s.Data, "data", "kafka", "folder of its data")
	check := flag.Bool("check", false, "ask a running broker whether it is ready, and exit 0 if it is")
	topics := flag.String("create", "", "create missing topics at a running broker: names separated by commas")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	do := serve
	switch {
	case *check:
		do = ready
	case *topics != "":
		do = func(ctx context.Context, s Settings) error { return create(ctx, s, strings.Split(*topics, ",")) }
	}
	if err := do(ctx, s); err != nil {
		slog.Error("kafka", "error", err)
		os.Exit(1)
	}
}

// serve runs the broker until ctx ends.
func serve(ctx context.Context, s Settings) error {
	cluster, err := kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.Ports(s.Port),
		kfake.ListenFn(s.listen),
		kfake.DataDir(s.Data),
		kfake.SyncWrites(),            // acknowledged records survive a kill
		kfake.DefaultNumPartitions(1), // the default of Apache Kafka
		kfake.WithLogger(kfake.BasicLogger(os.Stderr, kfake.LogLevelWarn)),
	)
	if err != nil {
		return fmt.Errorf("start the broker: %w", err)
	}
	defer cluster.Close()

	slog.Info("kafka is ready", "broker", address(s))
	<-ctx.Done()
	return nil
}

// listen returns the broker's listener. The broker tells clients the listener's address.
func (s Settings) listen(network, address string) (net.Listener, error) {
	listener, err := net.Listen(network, address)
	if err != nil || s.Advertised == 0 {
		return listener, err
	}
	return advertised{listener, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: s.Advertised}}, nil
}

type advertised struct {
	net.Listener
	address net.Addr
}

func (a advertised) Addr() net.Addr { return a.address }

// ready returns nil if the broker answers.
func ready(ctx context.Context, s Settings) error {
	return ask(ctx, s, func(ctx context.Context, client *kgo.Client) error { return client.Ping(ctx) })
}

// create creates topics of one partition.
func create(ctx context.Context, s Settings, topics []string) error {
	request := kmsg.NewPtrCreateTopicsRequest()
	for _, name := range topics {
		topic := kmsg.NewCreateTopicsRequestTopic()
		topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, 1, 1
		request.Topics = append(request.Topics, topic)
	}
	return ask(ctx, s, func(ctx context.Context, client *kgo.Client) error {
		response, err := request.RequestWith(ctx, client)
		if err != nil {
			return err
		}
		for _, topic := range response.Topics {
			if err := kerr.ErrorForCode(topic.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
				return fmt.Errorf("create the topic %s: %w", topic.Topic, err)
			}
		}
		return nil
	})
}

// ask asks a running broker.
func ask(ctx context.Context, s Settings, question func(context.Context, *kgo.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address(s)))
	if err != nil {
		return err
	}
	defer client.Close()
	return question(ctx, client)
}

func address(s Settings) string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }
