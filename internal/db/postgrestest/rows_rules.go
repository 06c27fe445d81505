package postgrestest

import (
	"time"

	"herald/internal/notification"
)

// Route is a row of event_type_channel_routing: by default T by e-mail, at once.
type Route struct {
	EventType        string                        `db:"event_type" default:"T"`
	Channel          notification.Channel          `db:"channel_type" default:"EMAIL"`
	Mandatory        bool                          `db:"mandatory"`
	Strategy         notification.Strategy         `db:"delivery_strategy"`
	Delay            time.Duration                 `db:"delay"`
	DigestWindow     time.Duration                 `db:"digest_window"`
	DigestAt         string                        `db:"digest_at"`
	DigestFirst      bool                          `db:"digest_first"`
	QuietHoursAction notification.QuietHoursAction `db:"quiet_hours_action"`
	Priority         notification.Priority         `db:"priority"`
	PushKind         notification.PushKind         `db:"push_kind"`
	SendAtPath       string                        `db:"send_at_path"`
	SendBefore       string                        `db:"send_before"`
	SkipIfPast       bool                          `db:"skip_if_past"`
	OnEscalationOnly bool                          `db:"on_escalation_only"`
	Roles            []string                      `db:"roles"`
	ExpiresAfter     time.Duration                 `db:"expires_after"`
	ThrottleWindow   time.Duration                 `db:"throttle_window"`
	ThrottleKeyPath  string                        `db:"throttle_key_path"`
	OncePerAddress   bool                          `db:"once_per_address"`
	TellActor        bool                          `db:"tell_actor"`
}

// Target is a row of event_type_recipients: by default the administrators get T.
type Target struct {
	EventType    string                `db:"event_type" default:"T"`
	UserType     notification.UserType `db:"user_type"`
	EntityType   string                `db:"entity_type" default:"ADMIN"`
	EntityIDPath string                `db:"entity_id_path"`
	Roles        []string              `db:"roles"`
}

// Template is a row of notification_template: by default the text of all messages.
type Template struct {
	EventType string               `db:"event_type"`
	Channel   notification.Channel `db:"channel"`
	Locale    string               `db:"locale"`
	Title     string               `db:"title" default:"title"`
	Body      string               `db:"body" default:"body"`
	URL       string               `db:"url"`
	Layout    string               `db:"layout"`
}

// Layout is a row of notification_layout: by default the layout page.
type Layout struct {
	Name   string `db:"name" default:"page"`
	Locale string `db:"locale"`
	Body   string `db:"body" default:"{{block}}"`
}

// Category is a row of event_category: by default T belongs to offers.
type Category struct {
	EventType string `db:"event_type" default:"T"`
	Category  string `db:"category" default:"offers"`
}

// Schema is a row of event_type_schema: by default T may have any payload.
type Schema struct {
	EventType     string `db:"event_type" default:"T"`
	PayloadSchema string `db:"payload_schema" default:"{}"`
}

// Escalation is a row of event_type_escalation: by default an e-mail about T that is not read in
// 5 minutes is followed by an SMS. Both need a [Route].
type Escalation struct {
	EventType string                       `db:"event_type" default:"T"`
	From      notification.Channel         `db:"from_channel" default:"EMAIL"`
	To        notification.Channel         `db:"to_channel" default:"SMS"`
	After     time.Duration                `db:"after" default:"5 minutes"`
	Until     notification.EscalationUntil `db:"until" default:"READ"`
	OnlyAfter bool                         `db:"!if_unreachable"`
}

// Cap is a row of frequency_cap: by default for e-mails, without a limit, which the table refuses.
type Cap struct {
	Channel  notification.Channel          `db:"channel_type" default:"EMAIL"`
	Category string                        `db:"category"`
	AtMost   int                           `db:"at_most"`
	Per      time.Duration                 `db:"per"`
	Spacing  time.Duration                 `db:"spacing"`
	Action   notification.QuietHoursAction `db:"action"`
}

// Approval is a row of event_type_approval: by default all events of T wait.
type Approval struct {
	EventType string `db:"event_type" default:"T"`
	Over      int    `db:"over" default:"0"`
}

func (Route) table() string      { return "event_type_channel_routing" }
func (Target) table() string     { return "event_type_recipients" }
func (Template) table() string   { return "notification_template" }
func (Layout) table() string     { return "notification_layout" }
func (Category) table() string   { return "event_category" }
func (Schema) table() string     { return "event_type_schema" }
func (Escalation) table() string { return "event_type_escalation" }
func (Cap) table() string        { return "frequency_cap" }
func (Approval) table() string   { return "event_type_approval" }
