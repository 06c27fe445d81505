package main

import (
	"time"

	enums "go.temporal.io/api/enums/v1"

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
	// Its digest is with the provider: it waits for what that brings.
	late := inDigest("deliver_in_digest_cancelled_late", "", aMoment, underWay, cancel,
		showing(enums.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED, enums.EVENT_TYPE_TIMER_STARTED), release)
	late.sendDigest = asDigest(sentWhenReleased)
	late.givenUp = []notification.Status{notification.Pending, notification.Sent}
	before := inDigest("deliver_in_digest_sent_before", "", aMoment)
	before.joined = notification.Sent
	return []*scenario{inDigest("deliver_in_digest", "digest_sent", aMoment), failed, dropped, left, hastened, cancelled, late, before}
}

// digests are other outcomes of a digest. The workflow of their item is gone.
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
