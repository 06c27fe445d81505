package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

func lifecycle() *comparison {
	s := &deliverySizes{}
	return &comparison{
		name:  "lifecycle",
		about: "the case deliveries with the source lifecycle, against Herald without it",
		a:     "Herald, whose triggers write each change and whose walk sends it to a topic",
		b:     "Herald, without triggers and source",
		named: true,
		flags: s.flags,
		open:  s.openLifecycle,
		goals: []goal{{figure: "deliveries", least: 0.9}},
	}
}

func (s *deliverySizes) openLifecycle(ctx context.Context, stage *stage) (a, b round, err error) {
	folder, err := os.MkdirTemp("", "herald-bench-")
	if err != nil {
		return nil, nil, err
	}
	stage.AtEnd(func(context.Context) error { return os.RemoveAll(folder) })
	file := filepath.Join(folder, "sources.yaml")
	topic := filepath.Base(folder)
	if err := os.WriteFile(file, fmt.Appendf(nil, "- { name: lifecycle, kafka: { topic: %s } }\n", topic), 0o600); err != nil {
		return nil, nil, err
	}
	var sides [2]*deliveryRounds
	for i, setting := range []string{"OUTBOX_SOURCES=" + file, "OUTBOX_SOURCES="} {
		h, err := stage.herald(ctx, setting)
		if err != nil {
			return nil, nil, err
		}
		if err := h.makeRestaurant(ctx, s.Recipients); err != nil {
			return nil, nil, err
		}
		sides[i] = &deliveryRounds{deliverySizes: *s, heraldAndBare: heraldAndBare{herald: h, ofA: newMeter(ctx, h.installation, pid(h.worker.PID))}}
	}
	with := sides[0]
	if err := with.herald.connectKafka(); err != nil {
		return nil, nil, err
	}
	if err := with.herald.createTopic(ctx, topic, 4); err != nil {
		return nil, nil, err
	}
	a = func(ctx context.Context) (*figures, error) {
		f, err := with.a(ctx)
		if err != nil {
			return nil, err
		}
		return f, with.herald.awaitLifecycle(ctx)
	}
	return a, sides[1].a, with.herald.command(ctx, with.herald.program("starter"), "source", "migrate", "lifecycle")
}

// awaitLifecycle waits until all rows are sent, because sending would slow down the next round.
func (h *herald) awaitLifecycle(ctx context.Context) error {
	return h.until(ctx, roundTime, "not all changes are sent", func() (bool, error) {
		unsent, err := h.count(ctx, "SELECT count(*) FROM lifecycle_event WHERE NOT sent")
		if err != nil || unsent > 0 {
			return false, err
		}
		written, err := h.count(ctx, "SELECT count(*) FROM lifecycle_event")
		if err == nil && written == 0 {
			err = fmt.Errorf("no change was written")
		}
		return true, err
	})
}
