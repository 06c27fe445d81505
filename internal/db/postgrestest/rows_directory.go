package postgrestest

import (
	"time"

	"herald/internal/notification"
)

// UserType is a row of user_type, without defaults.
type UserType struct {
	Name     notification.UserType `db:"user_type"`
	Who      string                `db:"who"`
	Audience string                `db:"audience"`
}

// Recipient is a row of recipient: by default customer 42, without an address.
type Recipient struct {
	UserType notification.UserType `db:"user_type" default:"CUSTOMER"`
	UserID   string                `db:"user_id" default:"42"`
	Name     string                `db:"name"`
	Email    string                `db:"email"`
	Phone    string                `db:"phone"`
	Slack    string                `db:"slack_webhook_url"`
	Webhook  string                `db:"webhook_url"`
	Locale   string                `db:"locale"`
	Timezone string                `db:"timezone"`
	Inactive bool                  `db:"!active"`
}

// Device is a row of recipient_device: by default the device "token" of staff 10.
type Device struct {
	UserType notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID   string                `db:"user_id" default:"10"`
	Token    string                `db:"token" default:"token"`
	Inactive bool                  `db:"!active"`
}

// Member is a row of entity_member: by default staff 10 of restaurant 5, with the role STAFF.
type Member struct {
	EntityType string                `db:"entity_type" default:"RESTAURANT"`
	EntityID   string                `db:"entity_id" default:"5"`
	UserType   notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID     string                `db:"user_id" default:"10"`
	Role       string                `db:"role" default:"STAFF"`
	Inactive   bool                  `db:"!active"`
}

// Follow is a row of entity_follow: by default staff 10 follows restaurant 5, at the level ALL.
type Follow struct {
	UserType   notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID     string                `db:"user_id" default:"10"`
	EntityType string                `db:"entity_type" default:"RESTAURANT"`
	EntityID   string                `db:"entity_id" default:"5"`
	Level      string                `db:"level" default:"ALL"`
}

// Mute is a row of entity_mute: by default staff 10 has muted restaurant 5.
type Mute struct {
	UserType   notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID     string                `db:"user_id" default:"10"`
	EntityType string                `db:"entity_type" default:"RESTAURANT"`
	EntityID   string                `db:"entity_id" default:"5"`
}

// Preference is a row of user_notification_preferences: by default of staff 10, about e-mail.
// QuietStart and QuietEnd switch quiet hours on.
type Preference struct {
	UserType   notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID     string                `db:"user_id" default:"10"`
	Channel    notification.Channel  `db:"channel_type" default:"EMAIL"`
	Off        bool                  `db:"!enabled"`
	QuietStart string                `db:"quiet_hours_start"`
	QuietEnd   string                `db:"quiet_hours_end"`
	Priority   notification.Priority `db:"priority"`
}

// CategoryPreference is a row of user_category_preferences: by default staff 10 gets offers by
// e-mail.
type CategoryPreference struct {
	UserType notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID   string                `db:"user_id" default:"10"`
	Category string                `db:"category" default:"offers"`
	Channel  notification.Channel  `db:"channel_type" default:"EMAIL"`
	Off      bool                  `db:"!enabled" default:"true"`
}

// UserSettings is a row of user_settings: by default of staff 10.
type UserSettings struct {
	UserType notification.UserType `db:"user_type" default:"RESTAURANT_USER"`
	UserID   string                `db:"user_id" default:"10"`
	Timezone string                `db:"timezone"`
	DigestAt string                `db:"digest_at"`
}

// GroupSetting is a row of entity_notification_settings: by default of restaurant 5, about e-mail.
type GroupSetting struct {
	EntityType    string               `db:"entity_type" default:"RESTAURANT"`
	EntityID      string               `db:"entity_id" default:"5"`
	Channel       notification.Channel `db:"channel_type" default:"EMAIL"`
	EventType     string               `db:"event_type"`
	Off           bool                 `db:"!enabled"`
	MaxRecipients *int                 `db:"max_recipients"`
	AllowedRoles  []string             `db:"allowed_roles"`
	QuietStart    string               `db:"quiet_hours_start"`
	QuietEnd      string               `db:"quiet_hours_end"`
	QuietTimezone string               `db:"quiet_hours_timezone"`
}

// Suppression is a row of recipient_suppression: by default an e-mail address bounced.
type Suppression struct {
	Channel     notification.Channel           `db:"channel" default:"EMAIL"`
	AddressHash []byte                         `db:"address_hash"`
	Reason      notification.SuppressionReason `db:"reason" default:"BOUNCE"`
	Detail      string                         `db:"detail"`
	Secret      string                         `db:"secret"`
	Since       time.Time                      `db:"since"`
}

func (UserType) table() string           { return "user_type" }
func (Recipient) table() string          { return "recipient" }
func (Device) table() string             { return "recipient_device" }
func (Member) table() string             { return "entity_member" }
func (Follow) table() string             { return "entity_follow" }
func (Mute) table() string               { return "entity_mute" }
func (Preference) table() string         { return "user_notification_preferences" }
func (CategoryPreference) table() string { return "user_category_preferences" }
func (UserSettings) table() string       { return "user_settings" }
func (GroupSetting) table() string       { return "entity_notification_settings" }
func (Suppression) table() string        { return "recipient_suppression" }

func (p Preference) implied() columns { return columns{"quiet_hours_enabled": p.QuietStart != ""} }
