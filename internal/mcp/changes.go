package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"herald/internal/advice"
	"herald/internal/audit"
	"herald/internal/operate"
)

// Changes makes the changes that a client plans and confirms.
type Changes struct {
	Actor    string
	Forms    operate.Forms
	Operator func(operate.Order) *operate.Operator
	Now      func() time.Time
}

// retryWait is the time that a retry waits for the end of its delivery.
const retryWait = 10 * time.Second

// changeNames names the changes that can be planned. A person approves and rejects events.
var changeNames = []string{
	"delivery cancel", "delivery retry", "delivery send-now", "delivery reschedule", "event cancel", "event retry",
}

// PlanRequest asks for the plan of a change. Its fields are in the token, too.
type PlanRequest struct {
	Change string     `json:"change" jsonschema:"delivery cancel, delivery retry, delivery send-now, delivery reschedule, event cancel or event retry"`
	ID     string     `json:"id" jsonschema:"the id of the delivery or event"`
	Again  bool       `json:"again,omitempty" jsonschema:"delivery retry: also send a sent delivery again"`
	At     *time.Time `json:"at,omitempty" jsonschema:"delivery reschedule: the new time"`
}

// ConfirmRequest confirms a plan.
type ConfirmRequest struct {
	Token  string `json:"token" jsonschema:"the token of the plan"`
	Reason string `json:"reason" jsonschema:"why the change is made, for the audit: one line of up to 500 bytes"`
}

// Outcome is the plan or the result of a change.
type Outcome struct {
	Change string `json:"change"`
	ID     string `json:"id"`
	Done   bool   `json:"done"` // it was changed, or would be changed
	Result string `json:"result"`
	Detail string `json:"detail,omitempty"`
	Token  string `json:"token,omitempty"` // for confirm_change; empty: there is nothing to confirm
}

// add adds the tools that change something.
func (c *Changes) add(server *sdk.Server, cfg Config) {
	closed, destructive := false, true
	add(server, cfg, slowTimeout, &sdk.Tool{
		Name: "plan_change", Description: "Plan a change of a delivery or an event, without making it: " + strings.Join(changeNames, ", ") +
			". Show the plan to the person; confirm_change makes it with the token, within an hour.",
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &closed},
	}, c.plan)
	add(server, cfg, slowTimeout, &sdk.Tool{
		Name: "confirm_change", Description: "Make a planned change, once. It changes nothing if the plan differs now.",
		Annotations: &sdk.ToolAnnotations{DestructiveHint: &destructive, OpenWorldHint: &closed},
	}, c.confirm)
}

// verb returns the verb of package operate, and the flags that the same command of starter would have.
func (in PlanRequest) verb(now time.Time) (verb operate.Verb, flags string, err error) {
	flags = "--mcp"
	if in.Again {
		flags += " --again"
	}
	if in.At != nil {
		flags += " --at " + in.At.UTC().Format(time.RFC3339)
	}
	if in.ID == "" || in.Again && in.Change != "delivery retry" || (in.At != nil) != (in.Change == "delivery reschedule") {
		return verb, flags, advice.With(errors.New("the change is not complete, or has too much"),
			"give an id; at only for delivery reschedule, which needs it; again only for delivery retry")
	}
	switch in.Change {
	case "delivery cancel":
		verb = operate.CancelDelivery()
	case "delivery retry":
		verb = operate.RetryDelivery(in.Again, retryWait)
	case "delivery send-now":
		verb = operate.SendNow()
	case "delivery reschedule":
		if verb, err = operate.Reschedule(*in.At, now); err != nil {
			err = advice.With(err, "give another time")
		}
	case "event cancel":
		verb = operate.CancelEvent()
	case "event retry":
		verb = operate.RetryEvent(false)
	default:
		err = advice.With(errors.New("there is no such change"), "choose one that the description of plan_change names")
	}
	return verb, flags, err
}

// dryRun returns the plan of a change, and what a form binds to it.
func (c *Changes) dryRun(ctx context.Context, in PlanRequest, reason string) (
	order operate.Order, verb operate.Verb, planned operate.Outcome, binds []string, err error,
) {
	verb, flags, err := in.verb(c.Now())
	if err != nil {
		return order, verb, planned, nil, err
	}
	order = operate.Order{Actor: c.Actor, Command: in.Change, Flags: flags, Reason: reason}
	summary, err := c.Operator(order).DryRun(ctx, verb, operate.SelectIDs([]string{in.ID}))
	if err != nil {
		return order, verb, planned, nil, err
	}
	planned = summary.Items[0]
	return order, verb, planned, []string{order.Actor, in.Change, in.ID, flags, planned.String()}, planned.Err
}

func (c *Changes) plan(ctx context.Context, in PlanRequest) (Outcome, error) {
	_, _, planned, binds, err := c.dryRun(ctx, in, "")
	if err != nil {
		return Outcome{}, err
	}
	found := outcomeOf(in, planned)
	if planned.Done() {
		asked, err := json.Marshal(in)
		if err != nil {
			return Outcome{}, err
		}
		found.Token = base64.RawURLEncoding.EncodeToString(asked) + "~" + c.Forms.Issue(c.Now(), binds...)
	}
	return found, nil
}

// confirm makes the change of a token, unless its plan differs now or it was made before.
func (c *Changes) confirm(ctx context.Context, in ConfirmRequest) (Outcome, error) {
	refused := advice.With(errors.New("nothing was changed: the token is old or wrong, or the plan has changed since"),
		"call plan_change again, and show its plan")
	reason := strings.TrimSpace(in.Reason)
	if !operate.FitReason(reason) {
		return Outcome{}, advice.With(errors.New("nothing was changed: there is no reason that can be recorded"),
			"give a reason of up to 500 bytes, on one line")
	}
	written, token, _ := strings.Cut(in.Token, "~")
	var asked PlanRequest
	decoded, err := base64.RawURLEncoding.DecodeString(written)
	if err != nil || json.Unmarshal(decoded, &asked) != nil {
		return Outcome{}, refused
	}
	order, verb, _, binds, err := c.dryRun(ctx, asked, reason)
	if err != nil {
		return Outcome{}, err
	}
	form, ok := c.Forms.ID(c.Now(), token, binds...)
	if !ok {
		return Outcome{}, refused
	}
	order.Form = form
	summary, err := c.Operator(order).Do(ctx, verb, operate.SelectIDs([]string{asked.ID}), nil)
	if err != nil {
		return Outcome{}, err
	}
	done := summary.Items[0]
	if errors.Is(done.Err, audit.ErrFormUsed) {
		return Outcome{}, advice.With(errors.New("nothing was changed: this token was used before"), "see `starter audit` for its first use")
	}
	return outcomeOf(asked, done), done.Err
}

// outcomeOf copies an outcome without the words of others.
func outcomeOf(in PlanRequest, o operate.Outcome) Outcome {
	o.Error, o.Approval.AnsweredBy = "an error that `starter "+strings.Fields(in.Change)[0]+" show` has", "an operator"
	return Outcome{Change: in.Change, ID: o.ID, Done: o.Done(), Result: o.Code.Result(), Detail: o.Detail()}
}
