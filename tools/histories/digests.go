package main

import (
	"context"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"

	"herald/activities"
	"herald/internal/launch"
	"herald/internal/notification"
	"herald/workflows"
)

const (
	aMoment = time.Second
	aDay    = 24 * time.Hour
)

// deliveriesInDigests returns the outcomes of a delivery that is sent in a digest. They also
// record the digest, whose item still runs.
func deliveriesInDigests() []*scenario {
	inDigest := func(name, digest string, window time.Duration, meanwhile ...step) *scenario {
		s := delivery(name, notification.Email, time.Time{}, nil, meanwhile...)
		in := s.input[0].(workflows.DeliverInput)
		in.Digest = true
		s.input[0], s.window = in, window
		if digest != "" {
			s.also = map[string]string{"-digest-" + digestKey.Name("staff"): digest}
		}
		return s
	}
	failed := inDigest("deliver_in_digest_failed", "digest_failed", aMoment)
	failed.sendDigest = asDigest(refuse)
	dropped := inDigest("deliver_in_digest_dropped", "digest_dropped", aMoment)
	dropped.seal = droppedItem
	left := inDigest("deliver_in_digest_opted_out", "digest_opted_out", aMoment)
	left.sendDigest = digestOptedOut
	hastened := inDigest("deliver_in_digest_sent_now", "digest_sent_now", aDay, waiting, hasten)
	cancelled := inDigest("deliver_in_digest_cancelled", "digest_of_nothing", 2*aMoment, waiting, cancel)
	cancelled.seal = noItem
	// Its digest is in flight, so the delivery waits for the result.
	late := inDigest("deliver_in_digest_cancelled_late", "", aMoment, underWay, cancel,
		showing(enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, enums.EVENT_TYPE_TIMER_STARTED), release)
	late.sendDigest = asDigest(sentWhenReleased)
	late.givenUp = []notification.Status{notification.Pending, notification.Sent}
	before := inDigest("deliver_in_digest_sent_before", "", aMoment)
	before.joined = notification.Sent
	return []*scenario{inDigest("deliver_in_digest", "digest_sent", aMoment), failed, dropped, left, hastened, cancelled, late, before}
}

// digests returns other outcomes of a digest. The workflow of its item is gone.
func digests() []*scenario {
	outcome := func(name string, window time.Duration, seal sealFunc, send sendDigestFunc, meanwhile ...step) *scenario {
		return &scenario{
			name: name, seal: seal, sendDigest: send, meanwhile: meanwhile,
			workflow: workflows.Digest, queue: workflows.ChannelQueue(prefix, digestKey.Channel),
			input: []any{workflows.DigestInput{Key: digestKey, Window: window, Policy: policy(digestKey.Channel)}},
		}
	}
	continued := outcome("digest_continued", aMoment, itemOnce, asDigest(sentWhenReleased),
		underWay, signal("join", "evt-late-staff10-EMAIL"), showing(enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED), release)
	continued.also = map[string]string{"": "digest_of_a_late_joiner"}
	return []*scenario{
		outcome("digest_retried", aMoment, nil, asDigest(outageOnce)),
		outcome("digest_refused", aMoment, nil, asDigest(refuse)),
		outcome("digest_not_recorded", aMoment, nil, digestUnrecorded),
		outcome("digest_all_cancelled", aMoment, nil, digestOfNobody),
		outcome("digest_deferred", aMoment, quietItem, nil),
		outcome("digest_rescheduled", aDay, nil, nil, waiting, signal(workflows.Reschedule, "tomorrow"), move),
		outcome("digest_sent_now_retrying", aMoment, nil, asDigest(outageAtFirst), retrying, hasten),
		outcome("digest_sent_now_sending", aMoment, nil, asDigest(sentWhenReleased), underWay, hasten, askedToStop, release),
		outcome("digest_rescheduled_retrying", aMoment, nil, asDigest(outageAtFirst), retrying, move),
		outcome("digest_cancelled_waiting", aDay, nil, nil, waiting, cancel),
		outcome("digest_cancelled_retrying", aMoment, nil, asDigest(outage), retrying, cancel),
		outcome("digest_cancelled_too_late", aMoment, nil, asDigest(sentWhenReleased), underWay, cancel, askedToStop, release),
		continued,
	}
}

// digestKey is the key of all digests here. Their ids have different prefixes.
var digestKey = notification.DigestKey{UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "REVIEW_POSTED"}

// JoinDigest starts the digest of a delivery, unless the digest has ended.
func (a *actors) JoinDigest(ctx context.Context, in activities.JoinInput) (activities.JoinResult, error) {
	s := a.of(in.DeliveryID)
	if s.joined != "" {
		return activities.JoinResult{Status: s.joined}, nil
	}
	starter := launch.Launcher{Client: a.temporal, Prefix: s.id}
	place := notification.DigestPlace{Key: digestKey, Who: "staff", Priority: notification.Normal, Window: s.window}
	id, err := starter.JoinDigest(ctx, activities.Join{DeliveryID: in.DeliveryID, Place: place, Policy: policy(in.Channel)})
	return activities.JoinResult{Status: notification.Pending, DigestID: id, Window: s.window}, err
}

type sealFunc = func(*scenario, activities.SealInput) activities.SealResult

// SealDigest returns the scenario's result; without one, one item for the first run.
func (a *actors) SealDigest(ctx context.Context, in activities.SealInput) (activities.SealResult, error) {
	s := a.ofThis(ctx)
	if s.seal == nil {
		return oneItem(s, in), nil
	}
	return s.seal(s, in), nil
}

// ofThis returns the scenario of the calling workflow.
func (a *actors) ofThis(ctx context.Context) *scenario {
	return a.of(activity.GetInfo(ctx).WorkflowExecution.ID)
}

// oneItem returns the delivery that joined. If the digest was started alone, it returns a
// delivery whose workflow is gone.
func oneItem(s *scenario, _ activities.SealInput) activities.SealResult {
	return activities.SealResult{SealedDigest: notification.SealedDigest{Items: []string{s.id}}}
}

func noItem(*scenario, activities.SealInput) activities.SealResult { return activities.SealResult{} }

// quietItem returns quiet hours that end soon, once.
func quietItem(s *scenario, in activities.SealInput) activities.SealResult {
	if s.polls.Add(1) == 1 {
		return activities.SealResult{NotBefore: time.Now().UTC().Add(time.Second), Wait: "08:00 Europe/Rome: quiet hours"}
	}
	return oneItem(s, in)
}

func droppedItem(s *scenario, in activities.SealInput) activities.SealResult {
	sealed := oneItem(s, in)
	sealed.Quiet = true
	return sealed
}

// itemOnce returns an item to the first call, and nothing later.
func itemOnce(s *scenario, in activities.SealInput) activities.SealResult {
	if s.polls.Add(1) == 1 {
		return oneItem(s, in)
	}
	return activities.SealResult{}
}

type sendDigestFunc = func(context.Context, *scenario, activities.SendDigestInput) (activities.SendDigestResult, error)

// SendDigest returns the scenario's result; without one, SENT.
func (a *actors) SendDigest(ctx context.Context, in activities.SendDigestInput) (activities.SendDigestResult, error) {
	s := a.ofThis(ctx)
	if s.sendDigest == nil {
		return activities.SendDigestResult{Items: 1}, nil
	}
	return s.sendDigest(ctx, s, in)
}

// asDigest makes a digest's result from a delivery's result.
func asDigest(send sendFunc) sendDigestFunc {
	return func(ctx context.Context, s *scenario, _ activities.SendDigestInput) (activities.SendDigestResult, error) {
		_, err := send(ctx, s, activities.SendInput{})
		return activities.SendDigestResult{Items: 1}, err
	}
}

func digestUnrecorded(_ context.Context, s *scenario, in activities.SendDigestInput) (activities.SendDigestResult, error) {
	result := notification.AttemptResult{
		DigestID: in.DigestID, Items: []notification.ItemAttempt{{DeliveryID: s.id, Attempt: 1}},
		Outcome: notification.OutcomeSent, ProviderStatus: 202, ProviderID: "p1",
	}
	return activities.SendDigestResult{Items: 1, Unrecorded: &result}, nil
}

// digestOptedOut is a digest whose recipient opted out while it collected.
func digestOptedOut(_ context.Context, s *scenario, _ activities.SendDigestInput) (activities.SendDigestResult, error) {
	return activities.SendDigestResult{Dropped: map[string]string{s.id: "USER_DISABLED"}}, nil
}

func digestOfNobody(context.Context, *scenario, activities.SendDigestInput) (activities.SendDigestResult, error) {
	return activities.SendDigestResult{}, nil
}

// RecordDigest succeeds.
func (a *actors) RecordDigest(context.Context, notification.AttemptResult) error { return nil }

// GiveUpDigest succeeds.
func (a *actors) GiveUpDigest(context.Context, activities.GiveUpDigestInput) (activities.GiveUpDigestResult, error) {
	return activities.GiveUpDigestResult{}, nil
}
