package notification_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

// Who caused the event is not told, unless the event names them as a customer, or the routing tells
// them. A person in exclude is never told.
func TestActorAndExclude(t *testing.T) {
	t.Parallel()

	const actor, excluded, selected = notification.DecisionActor, notification.DecisionExcluded, notification.DecisionSelected
	customer := notification.RecipientKey{UserType: notification.Customer, UserID: "1"}
	named := notification.Event{AggregateType: "CUSTOMER", AggregateID: "1", Payload: []byte(`{"customerId": 1}`)}
	everybody := notification.Event{AggregateType: "BROADCAST", AggregateID: "0", Payload: named.Payload}
	for name, tt := range map[string]struct {
		event     notification.Event
		rules     []notification.EventRecipients
		actor     notification.RecipientKey
		exclude   []string
		tellActor bool
		want      notification.Decision
		finds     string
	}{
		"unknown":              {event: everybody, want: selected, finds: "it was not them, or the event does not say"},
		"another type":         {event: everybody, actor: notification.RecipientKey{UserType: "ADMIN", UserID: "1"}, want: selected, finds: "not them"},
		"another id":           {event: everybody, actor: notification.RecipientKey{UserType: "CUSTOMER", UserID: "2"}, want: selected, finds: "not"},
		"the actor":            {event: everybody, actor: customer, want: actor, finds: "it was them"},
		"told all the same":    {event: everybody, actor: customer, tellActor: true, want: selected, finds: "tell_actor is true"},
		"the aggregate":        {event: named, actor: customer, want: selected, finds: "the event names them as CUSTOMER"},
		"an entity":            {event: everybody, rules: []notification.EventRecipients{{EntityType: "CUSTOMER", EntityIDPath: "customerId"}}, actor: customer, want: selected, finds: "names them"},
		"another entity":       {event: named, rules: []notification.EventRecipients{{EntityType: "BROADCAST"}}, actor: customer, want: actor, finds: "it was them"},
		"excluded":             {event: everybody, exclude: []string{"ADMIN/7", "CUSTOMER/1"}, want: excluded, finds: "not them"},
		"named, but excluded":  {event: named, actor: customer, exclude: []string{"CUSTOMER/1"}, tellActor: true, want: excluded, finds: "names them"},
		"an id that begins so": {event: everybody, exclude: []string{"CUSTOMER/10", "CUSTOMER/"}, want: selected, finds: "not them"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := situation{channel: notification.WebSocket, supported: true, mandatory: true}
			setup, person := s.rules(), s.recipient()
			setup.Supported[s.channel] = append(setup.Supported[s.channel], notification.Customer)
			setup.Event, setup.Event.ID, setup.Recipients = tt.event, "evt-1", tt.rules
			setup.Event.Actor, setup.Event.Exclude = tt.actor, tt.exclude
			setup.Routing[0].TellActor = tt.tellActor
			person.UserType = notification.Customer

			facts := setup.Facts(person, s.channel, noon, nil)
			require.Equal(t, tt.want, facts.Decision())
			require.Contains(t, facts.Findings()[1].Fact, tt.finds)
			require.Equal(t, tt.want == excluded, facts.Findings()[2].Applies)
		})
	}
}
