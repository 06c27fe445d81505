package ruletest

import (
	"context"
	"slices"

	"herald/internal/notification"
	"herald/internal/planner"
	"herald/internal/rules"
)

// testing is the state of one test.
type testing struct {
	*run
	plan *planner.Plan
	used notification.Used
	got  *outcome
}

// planPages decides about all recipients, as planning does.
func (t *testing) planPages(ctx context.Context) error {
	if t.plan.Outcome != "" {
		return nil
	}
	t.plan.Holders = notification.AddressHolders{}
	err := t.plan.Pages(ctx, pageSize, func(page notification.RecipientPage) (done bool, err error) {
		t.plan.Settings = page.Settings
		for _, recipient := range page.Recipients {
			t.decide(ctx, recipient)
		}
		return false, ctx.Err()
	})
	if err != nil {
		return err
	}
	return t.coverage.recipients(ctx, t.plan)
}

// decide decides about a recipient's channels, and renders what they would read.
func (t *testing) decide(ctx context.Context, recipient notification.Recipient) {
	who := reference(recipient)
	t.got.decisions[who] = map[notification.Channel]notification.Decision{}
	choices := t.plan.Decide(recipient, t.plan.Now, t.used)
	for _, choice := range choices {
		t.got.decisions[who][choice.Channel] = choice.Decision
		if _, escalates := t.plan.Instead(choice); escalates {
			t.coverage.escalated(t.plan.Event.Type, choice.Channel)
		}
		if choice.Decision == notification.DecisionSelected {
			t.write(ctx, recipient, choice, t.got.texts)
		}
	}
	for _, choice := range choices {
		if choice.Decision == notification.DecisionSelected && choice.Strategy != notification.Aggregate {
			t.escalate(ctx, recipient, choice.Channel, choices)
		}
	}
}

// write renders the text of a selected delivery, and of its digest.
func (t *testing) write(ctx context.Context, recipient notification.Recipient, choice notification.Choice, to texts) {
	who, event := reference(recipient), t.plan.Event
	t.coverage.selected(event.Type, choice.Channel)
	delivery := t.plan.Delivery(ctx, recipient, choice)
	if delivery.Problem != "" {
		t.got.problem(who, choice.Channel, delivery.Problem)
		return
	}
	to.add(who, choice.Channel, notification.Text{Title: delivery.Title, Body: delivery.Body, URL: delivery.URL})
	if choice.Strategy != notification.Aggregate {
		return
	}
	items := []notification.DigestItem{{EventID: event.ID, Title: delivery.Title, Body: delivery.Body, CreatedAt: event.CreatedAt,
		Entity: recipient.Entity, EntityName: recipient.EntityName, MemberRole: recipient.MemberRole}}
	text, err := t.engine.Digest(t.templates, event.Type, choice.Channel, recipient, items)
	if err != nil {
		t.got.problem(who, choice.Channel, "the digest: "+err.Error())
		return
	}
	t.got.digestTexts.add(who, choice.Channel, text)
}

// escalate renders the deliveries that follow a delivery which does not arrive.
func (t *testing) escalate(
	ctx context.Context, recipient notification.Recipient, from notification.Channel, decided []notification.Choice,
) {
	for {
		i := slices.IndexFunc(t.plan.Escalations, func(e notification.Escalation) bool { return e.From == from })
		if i < 0 {
			return
		}
		to := t.plan.Escalations[i].To
		t.coverage.escalated(t.plan.Event.Type, from)
		told := func(c notification.Choice) bool {
			return c.Channel == to && c.Decision == notification.DecisionSelected
		}
		if slices.ContainsFunc(decided, told) {
			return
		}
		choice := t.plan.Facts(recipient, to, t.plan.Now, t.used).Choice()
		choice.Escalated = true
		if choice.Decision == notification.DecisionSelected {
			t.write(ctx, recipient, choice, t.got.escalatedTexts)
		} else if _, escalates := t.plan.Instead(choice); !escalates {
			return
		}
		from = to
	}
}

// reasons returns why planning did not name some of the expected recipients.
func (t *testing) reasons(ctx context.Context, test rules.Test) (map[rules.Reference][]string, error) {
	reasons := map[rules.Reference][]string{}
	for who := range test.Expect {
		if _, named := t.got.decisions[who]; named {
			continue
		}
		person := key(who)
		entry, err := t.planner.Rows.DirectoryEntry(ctx, person.UserType, person.UserID, t.plan.Targets)
		switch {
		case err != nil:
			return nil, err
		case !entry.Known:
			reasons[who] = []string{"they are not in the people of the test"}
		case !entry.Active:
			reasons[who] = []string{"they are not active"}
		case t.plan.Outcome != "":
			reasons[who] = []string{t.plan.Problem}
		case len(t.plan.Targets) > 0:
			reasons[who] = append(notification.NotNamed(t.plan.Targets, entry), t.plan.Problems...)
		default:
			reasons[who] = t.plan.Problems
		}
	}
	return reasons, nil
}

func reference(r notification.Recipient) rules.Reference {
	return rules.Reference(notification.RecipientKey{UserType: r.UserType, UserID: r.UserID}.String())
}
