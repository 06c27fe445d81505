package roomtest

import (
	"testing"
	"time"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/receipts"
)

// Day is the time of the receipts below.
var Day = time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC)

func Bounce(id string) notification.Receipt {
	return notification.Receipt{
		Provider: "sendgrid", ID: id, DeliveryID: Mail, MessageID: "m", Word: "bounce", At: Day,
		Status: notification.Failed, Detail: "550 no such user", Suppress: notification.SuppressedBounce, Address: "ada@example.com",
	}
}

func Delivered(id string) notification.Receipt {
	return notification.Receipt{Provider: "sendgrid", ID: id, DeliveryID: Mail, MessageID: "m", Word: "delivered", At: Day,
		Status: notification.Delivered}
}

func Record(t *testing.T, s *db.DB, given ...notification.Receipt) []notification.RecordedReceipt {
	t.Helper()
	return Must(receipts.On(s).RecordReceipts(t.Context(), given))(t)
}

// SendMail sends one mail to staff 10, whose provider id is m.
func SendMail(t *testing.T, s *db.DB) {
	t.Helper()
	PlanMail(t, s)
	Begin(t, s, Mail, 0)
	EndAs(t, s, notification.AttemptResult{DeliveryID: Mail, Number: 1, Outcome: notification.OutcomeSent, ProviderID: "m"})
}

// FollowUpsOf returns the follow-ups of deliveries.
func FollowUpsOf(t *testing.T, s *db.DB) []string {
	t.Helper()
	return postgrestest.List(t, s, "SELECT kind || ' ' || delivery_id FROM delivery_follow_up ORDER BY delivery_id, kind")
}
