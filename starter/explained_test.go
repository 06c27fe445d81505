package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/roomtest"
)

// volatile matches the parts of the output that differ between two runs. Times of the rows have the day
// 2026-11-21, or the year 2040.
var volatile = regexp.MustCompile(`it is \d\d:\d\d|quiet until \d\d:\d\d|` +
	`(?:202[7-9]|203\d|2026-1[02]|2026-0\d|2026-11-[013]\d|2026-11-2[02-9])-?[\d-]*[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z`)

// What starter prints about events, deliveries and decisions in each state stays as it is. The golden
// files have the commands, too: for another case, add its line "$ starter …" and run with -write-golden.
func TestExplained(t *testing.T) {
	t.Parallel()

	c := withDelivery(t)
	c.exec(t, string(must(os.ReadFile("testdata/explained/rows.sql"))(t)))
	for _, golden := range must(filepath.Glob("testdata/explained/*.golden"))(t) {
		commands := command.FindAllStringSubmatch(string(must(os.ReadFile(golden))(t)), -1)
		printed := make([]string, len(commands))
		var group errgroup.Group
		group.SetLimit(8)
		for i, found := range commands {
			group.Go(func() error {
				got := c.run(t, strings.Fields(found[1])...)
				printed[i] = found[0] + "\n" + got.out + got.err
				return nil
			})
		}
		require.NoError(t, group.Wait())
		requireNothingSecret(t, strings.Join(printed, ""))
		name := strings.TrimSuffix(strings.TrimPrefix(golden, "testdata/"), ".golden")
		roomtest.Golden(t, name, volatile.ReplaceAllString(strings.Join(printed, "\n"), "<now>"))
	}
}

// command matches a command of starter in a golden file.
var command = regexp.MustCompile(`(?m)^\$ starter (.+)$`)

// The output about a running workflow stays as it is, as text and as JSON.
func TestPrintWorkflows(t *testing.T) {
	t.Parallel()

	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	later, took := at.Add(time.Hour), 0.21
	running := func(details string, workers int, pending ...explain.PendingActivity) explain.Sending {
		return explain.Sending{
			WorkflowView: explain.WorkflowView{Status: explain.Running, RunID: "run-1", StartedAt: &at, HeraldOutcome: "SENT"},
			TaskQueue:    "herald-sms", Workers: workers, Details: details, Pending: pending, MaxAttempts: 3, WaitsUntil: &later,
		}
	}
	send := explain.PendingActivity{
		Activity: "Send", State: "SCHEDULED", Attempt: 2, NextAttempt: &later,
		LastFailure: "twilio is busy: 429", FailureType: "Busy",
	}
	digest := running("3 of at most 100 joined", 1)
	batch := running("sending a batch", 0, explain.PendingActivity{Activity: "SendBatch", State: explain.Started, Attempt: 1})
	inDigest := running("waiting for its digest", 1)
	inBatch := explain.Sending{
		WorkflowView: explain.WorkflowView{Status: explain.Unknown, Note: "a batch sends it"}, BatchID: "batch-1", Batch: &batch,
	}
	inDigest.DigestID, inDigest.Digest = "digest-1", &digest
	detail := report.DeliveryDetail{
		DeliveryRow: report.DeliveryRow{
			DeliveryID: "d", EventID: "e", EventType: "T", UserType: "CUSTOMER", UserID: "7", Channel: "SMS", Status: "PENDING",
			Strategy: "DELAYED", Priority: "HIGH", CreatedAt: at, SendAfter: &later,
		},
		HasText: true,
		Log: []report.AttemptRow{
			{Attempt: 1, StartedAt: at, EndedAt: &later, Outcome: "BUSY", ProviderStatus: 429, Detail: "twilio is busy: 429", TookSeconds: &took},
			{Attempt: 2, StartedAt: later},
		},
	}
	var out bytes.Buffer
	note := func(name string, value any, write func(io.Writer)) {
		encoded := must(json.MarshalIndent(value, "", "  "))(t)
		out.WriteString("== " + name + "\n" + table(t, write) + string(encoded) + "\n\n")
	}
	for _, tt := range []struct {
		name  string
		state explain.Sending
	}{
		{"in back-off", running("", 1, send)}, {"no worker", running("", 0)}, {"in a digest", inDigest}, {"in a batch", inBatch},
		{"failed", explain.Sending{WorkflowView: explain.WorkflowView{Status: "FAILED", Failure: "twilio refused: 400"}}},
	} {
		follows := &explain.Escalation{Escalation: report.Escalation{From: "d-EMAIL"}}
		view := explain.DeliveryView{DeliveryDetail: detail, Workflow: tt.state, Ahead: "; then quiet hours", Escalation: follows}
		note(tt.name, view, func(w io.Writer) { printDelivery(w, view) })
		why := explain.Why{
			EventID: "e", EventType: "T", Channel: "SMS", Decision: "SELECTED", DecidedAt: &at, Meaning: "chosen",
			Delivery: &detail, Workflow: &tt.state, Next: "it is sent",
		}
		note("why: "+tt.name, why.Workflow, func(w io.Writer) { printWhy(w, why) })
	}
	event := explain.EventView{
		EventDetail: report.EventDetail{EventID: "e", More: 7,
			Deliveries: report.DeliveryTotals{ByStatus: map[notification.Status]int{notification.Failed: 1}, ReadBy: 2, FailedWithoutWorkflow: 7},
			Recipients: []report.RecipientDetail{{
				UserType: "CUSTOMER", UserID: "7",
				Decisions: map[notification.Channel]notification.Decision{"EMAIL": "SELECTED", "PUSH": "QUIET_HOURS", "SMS": "SELECTED"},
				Deliveries: map[notification.Channel]report.RecipientDelivery{
					"EMAIL": {Status: "DELIVERED", ReadAt: &at, Attempts: 1, EscalatesTo: "SLACK"},
					"SMS": {
						Status: "PENDING", SendAfter: &later, Attempts: 1, LastError: "twilio is busy: 429", Retries: 2,
						DigestID: "digest-1", EscalatedFrom: "PUSH",
					},
				},
			}}},
		Workflow: explain.WorkflowView{Status: explain.Running, RunID: "run-1", Problem: "a rule names nobody", Outcome: "PROBLEM"},
		Pending:  []explain.PendingActivity{send}, Next: "planning failed once",
		Batches: []explain.BatchView{{
			WorkflowID: "batch-1", Pending: []explain.PendingActivity{send},
			Progress: explain.BatchProgress{Sent: 210, Failed: 2, Later: 1, Resting: "until 08:00: busy"},
		}},
	}
	note("event", event, func(w io.Writer) { printEvent(w, event) })
	roomtest.Golden(t, "workflows", out.String())
}
