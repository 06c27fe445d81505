package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/internal/explain"
	"herald/internal/notification"
	"herald/internal/report"
	"herald/internal/terminal"
)

func showDeliveryCommand(a *app) *cobra.Command {
	return showCommand(a, &cobra.Command{
		Short: "Show a delivery, its attempts, its receipts, its retries and its workflow",
		Long: `Show a delivery: its row, its last 50 attempts, its provider's receipts, the retries by
operators, and its workflow. It shows no address and no text.
starter delivery why explains the decision, and what happens next.`,
		Example:           "  starter delivery show evt-1-staff10-EMAIL\n  starter delivery show evt-1-staff10-EMAIL -o json",
		ValidArgsFunction: terminal.CompleteOne(completeDeliveries(a)),
	}, explain.Explainer.Delivery, printDelivery)
}

func printDelivery(w io.Writer, view explain.DeliveryView) {
	terminal.Row(w, "delivery", view.DeliveryID)
	printDeliveryRow(w, view.DeliveryDetail)
	printSet(w, fact{"when it is due", strings.TrimPrefix(view.Ahead, "; ")}, fact{"follows", view.Escalation.Follows()},
		fact{"escalation", view.Escalation.Says()})
	terminal.Row(w)
	printSending(w, view.Workflow)
	printAttempts(w, view.DeliveryDetail, view.Workflow)
	printReceipts(w, view.Receipts)
	printRetries(w, view.Retries)
	printActions(w, view.Actions)
}

func printDeliveryRow(w io.Writer, d report.DeliveryDetail) {
	var group string
	if d.EntityID != "" && d.EntityType+"/"+d.EntityID != d.Recipient() {
		group = d.EntityType + "/" + d.EntityID
	}
	printSet(w,
		fact{"event", d.EventID + ", " + d.EventType},
		fact{"correlation id", d.CorrelationID},
		fact{"recipient", d.Recipient()},
		fact{"group", group},
		fact{"channel", string(d.Channel)},
		fact{"status", string(d.Status)},
		fact{"strategy", fmt.Sprintf("%s, priority %s", d.Strategy, d.Priority)},
		fact{"planned", terminal.Clock(&d.CreatedAt)},
		fact{"send after", terminal.Clock(d.SendAfter)},
		fact{"expires", terminal.Clock(d.ExpiresAt)},
		fact{"sent", terminal.Clock(d.SentAt)},
		fact{"delivered", terminal.Clock(d.DeliveredAt)},
		fact{"read", terminal.Clock(d.ReadAt)},
		fact{"text", textState(d)},
		fact{"replaced by", d.ReplacedBy},
		fact{"last error", d.LastError},
		fact{"provider", d.Provider},
		fact{"provider's id", d.ProviderMessageID},
		fact{"digest", digestText(d)})
}

// textState says why the delivery has no text; empty if it has a text.
func textState(d report.DeliveryDetail) string {
	if d.HasText {
		return ""
	}
	return "none: it could not be rendered"
}

func digestText(d report.DeliveryDetail) string {
	if d.DigestID == "" {
		return ""
	}
	return fmt.Sprintf("%s, with %d items", d.DigestID, d.DigestItems)
}

func printSending(w io.Writer, s explain.Sending) {
	printExecution(w, s.WorkflowView)
	printSet(w, fact{"it says", s.Details})
	if s.Status == explain.Running || s.Status == explain.Unknown && s.TaskQueue != "" {
		terminal.Row(w, "task queue", fmt.Sprintf("%s, workers: %d", s.TaskQueue, s.Workers))
		if s.Workers == 0 {
			terminal.Row(w, "no worker", s.ServedBy.Absent(s.TaskQueue, time.Now())+": nothing happens until one runs")
		}
	}
	printPending(w, s.Pending)
	for _, within := range []struct {
		name, id string
		sending  *explain.Sending
	}{{"its digest", s.DigestID, s.Digest}, {"its batch", s.BatchID, s.Batch}} {
		if within.sending != nil {
			terminal.Row(w)
			terminal.Row(w, within.name, within.id)
			printSending(w, *within.sending)
		}
	}
}

func printPending(w io.Writer, pending []explain.PendingActivity) {
	for _, p := range pending {
		text := fmt.Sprintf("%s %s, attempt %d", p.Activity, p.State, p.Attempt)
		if p.NextAttempt != nil {
			text += ", due at " + terminal.Clock(p.NextAttempt)
		}
		printSet(w, fact{"activity", text}, fact{"last failure", p.LastFailure})
	}
}

func printAttempts(w io.Writer, d report.DeliveryDetail, s explain.Sending) {
	printSection(w, []any{"ATTEMPT", "BEGAN", "TOOK", "OUTCOME", "HTTP", "DETAIL"}, d.Log, func(i int, attempt report.AttemptRow) []any {
		return []any{attempt.Attempt, terminal.Clock(&attempt.StartedAt), took(attempt), terminal.Dash(attempt.Outcome),
			statusCode(attempt.ProviderStatus), attemptText(attempt, i == len(d.Log)-1, s)}
	})
}

// printSection prints an empty line and a table, if there are rows.
func printSection[T any](w io.Writer, header []any, rows []T, cells func(i int, row T) []any) {
	for i, row := range rows {
		if i == 0 {
			terminal.Row(w)
			terminal.Row(w, header...)
		}
		terminal.Row(w, cells(i, row)...)
	}
}

// took returns the time that the provider took to answer.
func took(attempt report.AttemptRow) string {
	if attempt.TookSeconds == nil {
		return "-"
	}
	return time.Duration(*attempt.TookSeconds * float64(time.Second)).Round(time.Millisecond).String()
}

func statusCode(status int) string {
	if status == 0 {
		return "-"
	}
	return strconv.Itoa(status)
}

// attemptText returns the provider's answer, or says why there is no answer.
func attemptText(attempt report.AttemptRow, last bool, s explain.Sending) string {
	switch {
	case attempt.Outcome == notification.OutcomeLost:
		return "a crash ended it: the next attempt may repeat the message"
	case attempt.EndedAt != nil:
		return terminal.Dash(attempt.Detail)
	case last && s.UnderWay():
		return "under way"
	case last && s.Status == explain.Unreachable:
		return "not ended: under way, or the worker crashed"
	default:
		return "begun but never ended: the worker crashed, the next attempt may repeat the message"
	}
}

// printReceipts prints the receipts: a provider's later reports on an accepted message.
func printReceipts(w io.Writer, receipts []report.ReceiptRow) {
	printSection(w, []any{"RECEIPT AT", "RECEIVED", "FROM", "SAYS", "MEANS", "DETAIL"}, receipts, func(_ int, r report.ReceiptRow) []any {
		return []any{terminal.Clock(&r.At), terminal.Clock(&r.ReceivedAt), r.Provider, r.Status, receiptMeaning(r), terminal.Dash(r.Detail)}
	})
}

// receiptMeaning returns the delivery status that a receipt reports.
func receiptMeaning(r report.ReceiptRow) string {
	if r.Earlier && r.Outcome != "" {
		return "-, of an earlier message"
	}
	return terminal.Dash(string(r.Outcome))
}

func printRetries(w io.Writer, retries []report.RetryRow) {
	printSection(w, []any{"RETRIED", "AGAIN", "RUN", "WAS", "ERROR THEN"}, retries, func(_ int, r report.RetryRow) []any {
		return []any{terminal.Clock(&r.RetriedAt), yes(r.Again), r.RunID, r.StatusBefore, terminal.Dash(r.ErrorBefore)}
	})
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
