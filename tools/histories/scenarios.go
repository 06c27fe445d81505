package main

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"herald/activities"
	"herald/internal/notification"
	"herald/workflows"
)

// scenario is one workflow from its start to its end.
type scenario struct {
	name      string            // of the file
	also      map[string]string // files of its pages, its digest or its last run, by the suffix of their ids
	id        string
	queue     string
	workflow  any
	input     []any
	meanwhile []step

	before    []step                    // before it is started
	pages     []activities.PlanResult   // of an event; none: planning fails
	planning  bool                      // planning lasts until the event is cancelled
	finishing bool                      // the local activity that records its end waits until it is released
	away      bool                      // its local activities fail
	stretches int64                     // of each lane
	idle      int32                     // looks of its lane that find nothing, while the second page is planned
	outcome   notification.EventOutcome // returned by FinishEvent; empty: the outcome that the event knows
	waits     time.Duration             // wait of its waiting deliveries
	send      func(context.Context, *scenario, activities.SendInput) (activities.SendResult, error)

	window     time.Duration            // of the digest that a delivery joins
	joined     notification.Status      // of a delivery that joins; empty: PENDING
	seal       sealFunc                 // nil: the only item of the first digest
	sendDigest sendDigestFunc           // nil: it is sent
	reopened   *activities.ReopenResult // of a delivery that is retried; nil: the retry fails
	givenUp    []notification.Status    // results of GiveUp, in turn; then the wanted status

	looks []activities.EscalateResult // of an escalation, in turn
	holds bool                        // the first look waits until it is released

	swept *activities.SweepResult // result of a sweep; the ids of its deliveries contain the scenario's id

	reached, released chan struct{} // an activity has reached its hold, and may leave it
	polls             atomic.Int32  // calls of the activity that the scenario is about
	giveUps           atomic.Int32
}

// files returns the recorded workflows by file name: the first run of the scenario's workflow, and the last
// run of the other workflows.
func (s *scenario) files(run string) map[string]workflow.Execution {
	files := map[string]workflow.Execution{s.name: {ID: s.id, RunID: run}}
	for suffix, file := range s.also {
		files[file] = workflow.Execution{ID: s.id + suffix}
	}
	return files
}

// scenarios returns all scenarios.
func scenarios() []*scenario {
	all := slices.Concat(pollers(), sweeps(), events(), largeEvents(), batchedEvents(), deliveries(), controlledDeliveries(),
		firstAttempts(), retriedDeliveries(), deliveriesInDigests(), digests(), escalations())
	for _, s := range all {
		s.reached, s.released = make(chan struct{}), make(chan struct{})
		s.id = s.name + "-" + stamp
		s.prepare()
	}
	return all
}

// pollers returns the ends of a poller.
func pollers() []*scenario {
	const modified = enums.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED
	poller := func(name string, meanwhile ...step) *scenario {
		return &scenario{
			name: name, workflow: workflows.PollOutbox, queue: workflows.EventsQueue(prefix),
			input: []any{workflows.PollInput{}}, meanwhile: meanwhile,
		}
	}
	return []*scenario{
		poller("poll_cancelled", underWay, cancel),
		// paused in its activity, twice, and resumed
		poller("poll_paused", underWay,
			signal(workflows.PausePoller, time.Duration(0)), showing(modified),
			signal(workflows.PausePoller, nil), showing(modified, enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED),
			signal(workflows.ResumePoller, nil), showing(modified, modified, enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED), cancel),
	}
}

// sweeps returns the ends of a sweep, of a cleaning, and of the follow-ups.
func sweeps() []*scenario {
	sweep := func(name string, givenUp ...notification.Channel) *scenario {
		swept := &activities.SweepResult{Sweep: notification.Sweep{Looked: 7, StartedAgain: 1, Closed: 1, Failed: len(givenUp)}}
		for _, channel := range givenUp {
			swept.GiveUp = append(swept.GiveUp, activities.GiveUpInput{Channel: channel, Status: notification.Failed, Reason: "started again 3 times in vain"})
		}
		return &scenario{name: name, workflow: workflows.Sweep, queue: workflows.EventsQueue(prefix), swept: swept}
	}
	clean := &scenario{name: "clean_done", workflow: workflows.CleanOutboxes, queue: workflows.EventsQueue(prefix), input: []any{workflows.CleanInput{Outboxes: []activities.CleanOutboxInput{
		{Source: notification.HeraldSource, Retention: 720 * time.Hour}, {Source: "orders", Retention: 24 * time.Hour},
	}}}}
	followUp := &scenario{name: "follow_up_cancelled", workflow: workflows.FollowUp, queue: workflows.EventsQueue(prefix), meanwhile: []step{underWay, cancel}}
	return []*scenario{sweep("sweep_done"), sweep("sweep_gave_up", notification.Email, notification.Slack), clean, followUp}
}

// prepare fills in the parts with the scenario's name.
func (s *scenario) prepare() {
	for i, input := range s.input {
		switch in := input.(type) {
		case workflows.NotifyInput:
			in.EventID = s.id
			s.input[i] = in
		case workflows.DeliverInput:
			s.id += "-staff10-" + string(in.Channel)
			in.DeliveryID = s.id
			s.input[i] = in
		case workflows.EscalateInput:
			in.EventID, in.DeliveryID = s.id, notification.DeliveryID(s.id, "staff", "10", in.Escalation.From)
			s.input[i] = in
		}
	}
	if s.swept != nil {
		for i, lost := range s.swept.GiveUp {
			s.swept.GiveUp[i].DeliveryID = notification.DeliveryID(s.id, "staff", "10", lost.Channel)
		}
	}
	for i := range s.pages {
		planned := s.pages[i].Batch.Deliveries
		if n := len(planned); n == 1 && planned[0].Escalation != nil {
			s.pages[i].Batch = batch(s.id, "10", []notification.Channel{planned[0].Channel})
			s.pages[i].Batch.Deliveries[0].Escalation = planned[0].Escalation
		} else if n > 0 {
			s.pages[i].Batch = batch(s.id, "10", notification.Channels()[:n])
		}
	}
}

// batch returns the deliveries to one recipient over some channels.
func batch(eventID, userID string, channels []notification.Channel) activities.DeliveryBatch {
	b := activities.DeliveryBatch{Policies: map[notification.Channel]activities.DeliveryPolicy{}}
	for _, channel := range channels {
		b.Deliveries = append(b.Deliveries, notification.Delivery{
			DeliveryID: notification.DeliveryID(eventID, "staff", userID, channel),
			Channel:    channel, UserType: notification.RestaurantUser, UserID: userID, Priority: notification.High,
		})
		b.Policies[channel] = policy(channel)
	}
	return b
}

func policy(channel notification.Channel) activities.DeliveryPolicy {
	return activities.DeliveryPolicy{
		TaskQueue:     workflows.ChannelQueue(prefix, channel),
		AttemptPolicy: activities.AttemptPolicy{MaxAttempts: 3, FirstRetry: 200 * time.Millisecond, Coefficient: 2, Timeout: 10 * time.Second},
	}
}
