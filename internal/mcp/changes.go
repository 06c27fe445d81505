package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
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

// change returns the change of package operate.
func (in PlanRequest) change() (operate.Change, error) {
	change := operate.Change{Command: in.Change, Again: in.Again}
	if in.At != nil {
		change.At = *in.At
	}
	switch {
	case !slices.Contains(changeNames, in.Change):
		return change, advice.With(operate.ErrNoSuchChange, "choose one that the description of plan_change names")
	case in.ID == "" || in.Again && in.Change != "delivery retry" || (in.At != nil) != (in.Change == "delivery reschedule"):
		return change, advice.With(errors.New("the change is not complete, or has too much"),
			"give an id; at only for delivery reschedule, which needs it; again only for delivery retry")
	}
	return change, nil
}

// dryRun returns the plan of a change, and what a form binds to it.
func (c *Changes) dryRun(ctx context.Context, in PlanRequest, reason string) (
	order operate.Order, verb operate.Verb, planned operate.Outcome, binds []string, err error,
) {
	change, err := in.change()
	if err != nil {
		return order, verb, planned, nil, err
	}
	if verb, err = change.Verb(c.Now()); err != nil {
		return order, verb, planned, nil, advice.With(err, "give another time")
	}
	flags := strings.TrimSpace("--mcp " + change.Flags())
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
