package main

import (
	"context"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

const (
	aMoment = time.Second
	aDay    = 24 * time.Hour
)

// deliveriesInDigests are the outcomes of a delivery that is sent in a digest,
// and with them those of a digest with an item that lives.
func deliveriesInDigests() []*scenario {
	inDigest := func(name, digest string, window time.Duration) *scenario {
		s := delivery(name, notification.Email, time.Time{}, nil)
		in := s.input[0].(workflows.DeliverInput)
		in.Digest = true
		s.input[0], s.window = in, window
		if digest != "" {
			s.also = map[string]string{"-digest-" + digestKey.String(): digest}
		}
		return s
	}
	failed := inDigest("deliver_in_digest_failed", "digest_failed", aMoment)
	failed.sendDigest = asDigest(refuse)
	dropped := inDigest("deliver_in_digest_dropped", "digest_dropped", aMoment)
	dropped.seal = droppedItem
	left := inDigest("deliver_in_digest_opted_out", "digest_opted_out", aMoment)
	left.sendDigest = digestOptedOut
	hastened := inDigest("deliver_in_digest_sent_now", "digest_sent_now", aDay)
	hastened.meanwhile = sendNow
	cancelled := inDigest("deliver_in_digest_cancelled", "digest_of_nothing", 2*aMoment)
	cancelled.seal, cancelled.meanwhile = noItem, cancelWaiting
	late := inDigest("deliver_in_digest_cancelled_late", "", aMoment)
	late.sendDigest, late.meanwhile = asDigest(sentWhenReleased), cancelItemOfSendingDigest
	late.givenUp = []notification.Status{notification.Pending, notification.Sent}
	before := inDigest("deliver_in_digest_sent_before", "", aMoment)
	before.joined = notification.Sent
	return []*scenario{inDigest("deliver_in_digest", "digest_sent", aMoment), failed, dropped, left, hastened, cancelled, late, before}
}

// digests are other outcomes of a digest. The workflow of their item is gone.
func digests() []*scenario {
	outcome := func(name string, window time.Duration, seal sealFunc, send sendDigestFunc, meanwhile meanwhileFunc) *scenario {
		return &scenario{
			name: name, seal: seal, sendDigest: send, meanwhile: meanwhile,
			workflow: workflows.Digest, queue: workflows.ChannelQueue(prefix, digestKey.Channel),
			input: []any{workflows.DigestInput{Key: digestKey, Window: window, Policy: policy(digestKey.Channel)}},
		}
	}
	continued := outcome("digest_continued", aMoment, itemOnce, asDigest(sentWhenReleased), joinLate)
	continued.also = map[string]string{"": "digest_of_a_late_joiner"}
	return []*scenario{
		outcome("digest_retried", aMoment, nil, asDigest(outageOnce), nil),
		outcome("digest_refused", aMoment, nil, asDigest(refuse), nil),
		outcome("digest_not_recorded", aMoment, nil, digestUnrecorded, nil),
		outcome("digest_all_cancelled", aMoment, nil, digestOfNobody, nil),
		outcome("digest_deferred", aMoment, quietItem, nil, nil),
		outcome("digest_rescheduled", aDay, nil, nil, reschedule),
		outcome("digest_sent_now_retrying", aMoment, nil, asDigest(outageAtFirst), sendNowRetrying),
		outcome("digest_sent_now_sending", aMoment, nil, asDigest(sentWhenReleased), sendNowSending),
		outcome("digest_rescheduled_retrying", aMoment, nil, asDigest(outageAtFirst), rescheduleRetrying),
		outcome("digest_cancelled_waiting", aDay, nil, nil, cancelWaiting),
		outcome("digest_cancelled_retrying", aMoment, nil, asDigest(outage), cancelRetrying),
		outcome("digest_cancelled_too_late", aMoment, nil, asDigest(sentWhenReleased), cancelSending),
		continued,
	}
}

// joinLate has an item join a digest that is being sent.
func joinLate(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := s.arrive(ctx); err != nil {
		return err
	}
	defer close(s.released)
	if err := temporal.SignalWorkflow(ctx, s.id, "", "join", s.id+"-late"); err != nil {
		return err
	}
	return happened(ctx, temporal, s.id, enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED)
}

// cancelItemOfSendingDigest cancels a delivery whose digest is with its
// provider: it then waits for what that brings.
func cancelItemOfSendingDigest(ctx context.Context, temporal client.Client, s *scenario) error {
	if err := cancelWhenReached(ctx, temporal, s); err != nil {
		return err
	}
	defer close(s.released)
	return happened(ctx, temporal, s.id, enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, enums.EVENT_TYPE_TIMER_STARTED)
}

// outageAtFirst asks for a long pause after its first attempt, whoever makes the others.
func outageAtFirst(_ context.Context, s *scenario, _ activities.SendInput) (activities.SendResult, error) {
	if s.polls.Add(1) == 1 {
		return activities.SendResult{}, unclear(10 * time.Minute)
	}
	return activities.SendResult{Status: notification.Sent}, nil
}
