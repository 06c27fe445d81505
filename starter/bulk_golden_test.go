package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/mocks"

	"herald/internal/db/postgrestest"
	"herald/internal/launch"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/operate"
	"herald/internal/roomtest"
	"herald/internal/terminal"
)

// What an operator reads after a verb: each outcome alone, several, and a summary of many.
func TestVerbsPrint(t *testing.T) {
	t.Parallel()

	broken := []notification.Status{notification.Failed, notification.Sent}
	var text strings.Builder
	for _, format := range []terminal.Format{terminal.Table, terminal.JSON} {
		for _, c := range []struct {
			name     string
			ids      []string              // empty: the deliveries of evt-1
			statuses []notification.Status // of the deliveries of evt-1; empty: all
			verb     operate.Verb
			dryRun   bool
		}{
			{name: "planned", ids: []string{"waits"}, verb: operate.CancelDelivery(), dryRun: true},
			{name: "done", ids: []string{"waits"}, verb: operate.CancelDelivery()},
			{name: "refused", ids: []string{"sent"}, verb: operate.CancelDelivery()},
			{name: "unknown", ids: []string{"none"}, verb: operate.CancelDelivery()},
			{name: "some done", ids: []string{"none", "waits", "sent"}, verb: operate.CancelDelivery()},
			{name: "many, planned", verb: operate.CancelDelivery(), dryRun: true},
			{name: "many", verb: operate.CancelDelivery()},
			{name: "many, some failed", statuses: broken, verb: operate.RetryDelivery(false, 0)},
			{name: "many, failed again", statuses: broken[:1], verb: operate.RetryDelivery(true, 0)},
		} {
			o := deskOfDeliveries(t)
			s := newScreen()
			s.Format, s.Err = format, io.Discard
			to := operate.SelectIDs(c.ids)
			if len(c.ids) == 0 {
				to = must(o.SelectDeliveries(t.Context(), list.DeliveryFilter{EventID: "evt-1", Statuses: c.statuses}, ""))(t)
			}
			err := verbRun{&s.Output, o, c.verb, to, bulkFlags{dryRun: c.dryRun}}.do(t.Context())
			fmt.Fprintf(&text, "# %s\n%s", c.name, s.out.String())
			if err != nil {
				fmt.Fprintf(&text, "error: %s\nnext: %s\n", err, nextStep(err))
			}
		}
	}
	roomtest.Golden(t, "verbs", text.String())
}

// deskOfDeliveries returns an operator and deliveries without workflows. Temporal starts no workflow.
func deskOfDeliveries(t *testing.T) *operate.Operator {
	t.Helper()
	o := &operate.Operator{Order: operate.Order{Actor: "ada", Command: "x"}, DB: postgrestest.New(t)}
	at := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	for _, d := range []postgrestest.Delivery{
		{ID: "waits", Status: notification.Pending}, {ID: "sent", Status: notification.Sent}, {ID: "arrived", Status: notification.Delivered},
		{ID: "failed", Status: notification.Failed, LastError: "why"},
	} {
		d.EventID, d.UserID = "evt-1", d.ID
		postgrestest.Add(t, o.DB.Pool, d)
	}
	postgrestest.Exec(t, o.DB, "UPDATE notification SET sent_at = $1 WHERE status IN ('SENT', 'DELIVERED')", at)
	temporal := mocks.NewClient(t)
	temporal.On("DescribeWorkflow", mock.Anything, mock.Anything, "").Return(nil, serviceerror.NewNotFound("none")).Maybe()
	temporal.On("ExecuteWorkflow", mock.Anything, mock.Anything, mock.Anything, mock.Anything).Return(nil, errors.New("broken")).Maybe()
	o.Launcher = &launch.Launcher{Client: temporal, Prefix: "test"}
	return o
}
