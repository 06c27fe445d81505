package explain

import (
	"cmp"
	"fmt"
	"time"

	"herald/internal/list"
	"herald/internal/notification"
)

// Reason returns why a recipient was not selected, or how the selected delivery ended or why it waits.
func Reason(d list.RecipientDecision, userType notification.UserType) string {
	switch {
	case d.ThrottledBy != "":
		return d.ThrottledBy + " went before"
	case d.Decision != notification.DecisionSelected:
		return d.Decision.Meaning(d.Channel, userType)
	case d.Status == notification.Pending && d.SendAfter != nil:
		return "waits until " + clock(d.SendAfter)
	case d.SentAt != nil && d.LastError == "":
		return "sent at " + clock(d.SentAt)
	default:
		return d.LastError
	}
}

// Sentence tells what became of a decision: "Not sent by SMS: …". Times are by the recipient's clock.
func Sentence(d list.RecipientDecision, userType notification.UserType, timezone string) string {
	at := func(t *time.Time) string { return notification.WallText(*t, time.Now(), timezone) }
	way := "over " + string(d.Channel)
	switch {
	case d.Decision != notification.DecisionSelected || d.ThrottledBy != "":
		return fmt.Sprintf("Not sent %s: %s.", way, Reason(d, userType))
	case d.Status == notification.Pending && d.SendAfter != nil:
		return fmt.Sprintf("Waits until %s, then goes %s.", at(d.SendAfter), way)
	case d.Status == notification.Pending:
		return fmt.Sprintf("Is being sent %s.", way)
	case d.Status == notification.Failed || d.Status == notification.Cancelled:
		return fmt.Sprintf("Not sent %s: %s.", way, d.LastError)
	case d.Status == "":
		return fmt.Sprintf("Chosen to be sent %s. The delivery was purged, or is not planned yet.", way)
	case d.Status == notification.Delivered && d.SentAt != nil:
		return fmt.Sprintf("Sent %s at %s, and delivered.", way, at(d.SentAt))
	case d.SentAt != nil:
		return fmt.Sprintf("Sent %s at %s.", way, at(d.SentAt))
	default:
		return fmt.Sprintf("%s %s.", d.Status, way)
	}
}

// settingWords holds the name of each setting for people, and the word for its unset value.
var settingWords = map[list.Setting]struct{ name, unset string }{
	list.SettingQuietHours: {"Quiet hours", "none"},
	list.SettingPriority:   {"Priority", ""},
	list.SettingTimezone:   {"Time zone", "the directory's"},
	list.SettingDigestAt:   {"Time of digests", "the usual one"},
}

// ChangeSentence tells who changed a preference: "EMAIL for offers was switched off by the recipient."
func ChangeSentence(c list.PreferenceChange) string {
	by := c.ChangedBy
	switch by {
	case "inbox":
		by = "the recipient"
	case "unsubscribe link":
		by = "an unsubscribe link"
	case "link":
		by = "the recipient, by a link"
	}
	entity := notification.Entity{Type: c.EntityType, ID: c.EntityID}
	switch isOn := c.NewValue == "true"; {
	case c.Setting == list.SettingMute && isOn:
		return fmt.Sprintf("%s was muted by %s.", entity, by)
	case c.Setting == list.SettingMute:
		return fmt.Sprintf("%s was unmuted by %s.", entity, by)
	case c.Setting == list.SettingFollow && c.NewValue == "":
		return fmt.Sprintf("%s was unfollowed by %s.", entity, by)
	case c.Setting == list.SettingFollow:
		return fmt.Sprintf("%s was followed at the level %s by %s.", entity, c.NewValue, by)
	case c.Setting == list.SettingEnabled:
		what, way := string(c.Channel), "off"
		if c.Category != "" {
			what += " for " + c.Category
		}
		if isOn {
			way = "on"
		}
		return fmt.Sprintf("%s was switched %s by %s.", what, way, by)
	}
	words := settingWords[c.Setting]
	what := words.name
	if c.Channel != "" {
		what += " over " + string(c.Channel)
	}
	return fmt.Sprintf("%s changed from %s to %s by %s.", what, cmp.Or(c.OldValue, words.unset), cmp.Or(c.NewValue, words.unset), by)
}
