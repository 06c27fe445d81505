package notification

import "strings"

// Preferences are what a recipient wants, as they see and change it.
type Preferences struct {
	Timezone   string               `json:"timezone"`   // IANA; to be stored: empty leaves it as it is
	Channels   []ChannelPreference  `json:"channels"`   // those that may serve the recipient; to be stored: others stay as they are
	Categories []CategoryPreference `json:"categories"` // those of event types that may reach the recipient; to be stored: others stay as they are
}

// ChannelPreference is what a recipient wants of one channel.
type ChannelPreference struct {
	Channel    Channel               `json:"channel"`
	Enabled    bool                  `json:"enabled"`
	Mandatory  bool                  `json:"mandatory"`             // whatever comes over it is mandatory, so it cannot be switched off; ignored where it is to be stored
	QuietHours *QuietHoursPreference `json:"quiet_hours,omitempty"` // nil: the channel is never quieted; to be stored: stays as it is
}

// QuietHoursPreference is quiet hours as a person writes them.
type QuietHoursPreference struct {
	Enabled bool   `json:"enabled"`
	Start   string `json:"start,omitempty"` // 22:00, in the recipient's zone; empty: none
	End     string `json:"end,omitempty"`   // 08:00; before the start: the next day; equal: never quiet
}

// CategoryPreference is what a recipient wants of one category of event types.
type CategoryPreference struct {
	Category string            `json:"category"`
	Channels []CategoryChannel `json:"channels"`
}

// CategoryChannel is a category over one channel.
type CategoryChannel struct {
	Channel   Channel `json:"channel"`
	Enabled   bool    `json:"enabled"`
	Mandatory bool    `json:"mandatory"` // of all its event types; as in [ChannelPreference]
}

// PreferenceError says why preferences are not stored: some are invalid, or would switch
// off what is mandatory.
type PreferenceError struct {
	Problems []string // sentences for people
}

func (e *PreferenceError) Error() string { return strings.Join(e.Problems, "; ") }
