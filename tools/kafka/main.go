// Command kafka is the local Kafka: one broker on this machine's loopback address that
// speaks Kafka's protocol and keeps its data in a folder, also over a kill. It is
// franz-go's kfake, which replicates nothing and is made for tests.
package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Settings says where the broker listens and where it stores.
type Settings struct {
	Port int
	Data string // folder of topics and records
}

const checkTimeout = 5 * time.Second

func main() {
	var s Settings
	flag.IntVar(&s.Port, "port", 9092, "port of the broker")
	flag.StringVar(&s.Data, "data", "kafka", "folder of its data")
	check := flag.Bool("check", false, "ask a running broker whether it is ready, and exit 0 if it is")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()

	do := serve
	if *check {
		do = ready
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
		kfake.DataDir(s.Data),
		kfake.SyncWrites(),            // what was acknowledged outlives a kill
		kfake.DefaultNumPartitions(1), // as Apache Kafka's
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

// ready succeeds once the broker answers.
func ready(ctx context.Context, s Settings) error {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(address(s)))
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Ping(ctx)
}

func address(s Settings) string { return fmt.Sprintf("127.0.0.1:%d", s.Port) }
