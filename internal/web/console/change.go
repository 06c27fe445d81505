package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"herald/internal/audit"
	"herald/internal/operate"
)

// changeRequest is a change that a person asks for.
type changeRequest struct {
	Name  string // such as delivery retry, the command of starter that does the same
	ID    string
	Again bool   // also retry a sent delivery
	Until string // reschedule to this time, in UTC, as a browser writes it
}

// inputTime is the format of <input type="datetime-local">.
const inputTime = "2006-01-02T15:04"

// change returns the change of package operate.
func (a changeRequest) change() (operate.Change, error) {
	change := operate.Change{Command: a.Name, Again: a.Again}
	if a.Name != "delivery reschedule" {
		return change, nil
	}
	var err error
	if change.At, err = time.Parse(inputTime, a.Until); err != nil {
		return change, &refusal{http.StatusBadRequest, "Name a time for the delivery."}
	}
	return change, nil
}

// Kind returns delivery or event.
func (a changeRequest) Kind() string {
	kind, _, _ := strings.Cut(a.Name, " ")
	return kind
}

// Subject returns the page of the delivery or event.
func (a changeRequest) Subject() string {
	return "/" + a.Kind() + "?" + url.Values{"id": {a.ID}}.Encode()
}

// changing is the data of the page of a change.
type changing struct {
	changeRequest
	Plan    operate.Outcome // of the dry run, or of the change
	Token   string          // empty: there is nothing to confirm
	Reason  string
	Notice  string
	Changed bool
}

// change shows the plan of a change. With the token of that page and a reason, it makes the change
// once. If the plan differs from the plan that the person saw, it shows the new plan instead.
func (c *Console) change(ctx context.Context, r *http.Request) (page, error) {
	a := changeRequest{r.PostForm.Get("change"), r.PostForm.Get("id"), r.PostForm.Get("again") != "", r.PostForm.Get("until")}
	if allowing[a.Name] == nil || a.ID == "" {
		return page{}, &refusal{http.StatusBadRequest, "There is no such change."}
	}
	if err := personOf(ctx).refusal(a.Name); err != nil {
		return page{}, err
	}
	asked, err := a.change()
	if err != nil {
		return page{}, err
	}
	verb, err := asked.Verb(c.now())
	if err != nil {
		return page{}, &refusal{http.StatusBadRequest, err.Error()}
	}
	order := operate.Order{Actor: actorOf(ctx), Command: a.Name, Flags: asked.Flags(), Reason: strings.TrimSpace(r.PostForm.Get("reason"))}
	planned, err := c.Operator(order).DryRun(ctx, verb, operate.SelectIDs([]string{a.ID}))
	if err != nil {
		return page{}, err
	}
	shown := changing{changeRequest: a, Plan: planned.Items[0], Reason: order.Reason}
	if shown.Plan.Err != nil {
		return page{}, shown.Plan.Err
	}
	binds := []string{order.Actor, a.Name, a.ID, order.Flags, shown.Plan.String()}
	token := r.PostForm.Get("token")
	form, confirmed := c.forms.ID(c.now(), token, binds...)
	switch {
	case token != "" && !confirmed:
		shown.Notice = "Nothing was changed by this form: it is old, or the plan has changed since you saw it. This is the plan now."
	case confirmed && !operate.FitReason(order.Reason):
		shown.Notice = "Nothing was changed yet. Write a reason of up to 500 bytes, on one line."
	case confirmed:
		order.Form = form
		return c.make(ctx, order, verb, shown)
	}
	if shown.Plan.Done() {
		shown.Token = c.forms.Issue(c.now(), binds...)
	}
	return page{name: "change", title: a.Name, data: shown}, nil
}

// make makes a change, unless its form was used before.
func (c *Console) make(ctx context.Context, order operate.Order, verb operate.Verb, shown changing) (page, error) {
	done, err := c.Operator(order).Do(ctx, verb, operate.SelectIDs([]string{shown.ID}), nil)
	if err != nil {
		return page{}, err
	}
	shown.Plan = done.Items[0]
	switch {
	case errors.Is(shown.Plan.Err, audit.ErrFormUsed):
		shown.Plan, shown.Notice = operate.Outcome{}, "This form was used before, so nothing was changed now. The audit has the first use."
	case shown.Plan.Err != nil:
		return page{}, shown.Plan.Err
	case !shown.Plan.Done():
		shown.Notice = "Nothing was changed by this form: somebody changed this first."
	default:
		shown.Changed = true
	}
	return page{name: "change", title: shown.Name, data: shown}, nil
}
