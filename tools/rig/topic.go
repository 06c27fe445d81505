package rig

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

// topicTime limits a request about a topic.
const topicTime = 30 * time.Second

// DialKafka connects to the brokers of KAFKA_BROKERS.
func DialKafka(options ...kgo.Opt) (*kgo.Client, error) {
	brokers := os.Getenv("KAFKA_BROKERS")
	if brokers == "" {
		return nil, errors.New("KAFKA_BROKERS is not set: run `make up`")
	}
	return kgo.NewClient(append(options, kgo.SeedBrokers(strings.Split(brokers, ",")...))...)
}

// Topic returns the name of an installation's topic.
func (in *Installation) Topic(name string) string { return in.Name + "-" + name }

// SendLifecycle creates a topic for Herald's lifecycle events, and lists them in OUTBOX_SOURCES, with
// settings such as "poll_interval: 1s, ".
func (in *Installation) SendLifecycle(ctx context.Context, partitions int, settings string) error {
	topic := in.Topic("lifecycle")
	if err := in.Data.CreateTopic(ctx, topic, partitions); err != nil {
		return err
	}
	if err := in.Sources("- { name: lifecycle, " + settings + "kafka: { topic: " + topic + " } }\n"); err != nil {
		return err
	}
	return in.Starter(ctx, "source", "migrate", "lifecycle")
}

// CreateTopic creates a topic.
func (l *Leftovers) CreateTopic(ctx context.Context, name string, partitions int) error {
	err := administer(ctx, func(ctx context.Context, kafka *kadm.Client) error {
		_, err := kafka.CreateTopic(ctx, int32(partitions), -1, nil, name)
		return err
	})
	if err == nil {
		l.AtEnd(func(ctx context.Context) error {
			return administer(ctx, func(ctx context.Context, kafka *kadm.Client) error {
				_, err := kafka.DeleteTopic(ctx, name)
				return err
			})
		})
	}
	return err
}

func administer(ctx context.Context, do func(context.Context, *kadm.Client) error) error {
	kafka, err := DialKafka()
	if err != nil {
		return err
	}
	defer kafka.Close()
	ctx, cancel := context.WithTimeout(ctx, topicTime)
	defer cancel()
	return do(ctx, kadm.NewClient(kafka))
}
