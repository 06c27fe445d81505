package main

import (
	"context"
	"encoding/json"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"herald/tools/rig"
)

// topicTime limits the reading of the topic.
const topicTime = 30 * time.Second

// readTopic returns the ids of the deliveries that the topic reports as sent. It reads until it has every
// row that Herald has marked as sent.
func (s *stage) readTopic(ctx context.Context) (map[string]bool, error) {
	ctx, cancel := context.WithTimeout(ctx, topicTime)
	defer cancel()
	rows, err := s.Count(ctx, "SELECT count(*) FROM lifecycle_event WHERE sent")
	if err != nil {
		return nil, err
	}
	client, err := rig.DialKafka(kgo.ConsumeTopics(s.Topic("lifecycle")), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	seen, sent := map[string]bool{}, map[string]bool{}
	for len(seen) < rows && ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
			var body struct {
				Type string `json:"type"`
				Data struct {
					DeliveryID string `json:"delivery_id"`
				} `json:"data"`
			}
			_ = json.Unmarshal(record.Value, &body) // the record then counts for no delivery
			for _, header := range record.Headers {
				if header.Key == "event_id" {
					seen[string(header.Value)] = true
				}
			}
			if body.Type == "delivery.sent" || body.Type == "delivery.delivered" {
				sent[body.Data.DeliveryID] = true
			}
		})
	}
	return sent, nil
}
