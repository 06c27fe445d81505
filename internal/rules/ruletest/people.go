package ruletest

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"herald/internal/db"
	"herald/internal/notification"
	"herald/internal/rules"
)

const (
	insertRecipient = `
		INSERT INTO recipient (user_type, user_id, name, email, phone, slack_webhook_url, webhook_url, locale, timezone, active)
		VALUES (@user_type, @user_id, @name, @email, @phone, @slack_webhook_url, @webhook_url, coalesce(nullif(@locale, ''), 'en'),
		        coalesce(nullif(@timezone, ''), 'UTC'), coalesce(@active, true))`
	insertDevices = `
		INSERT INTO recipient_device (user_type, user_id, token)
		SELECT @user_type, @user_id, unnest(@devices::text[])`
	insertMember = `
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		VALUES (@entity_type, @entity_id, @user_type, @user_id, @role)`
	insertFollow = `
		INSERT INTO entity_follow (entity_type, entity_id, user_type, user_id, level)
		VALUES (@entity_type, @entity_id, @user_type, @user_id, @level)`
	insertMute = `
		INSERT INTO entity_mute (entity_type, entity_id, user_type, user_id)
		VALUES (@entity_type, @entity_id, @user_type, @user_id)`
	insertSettings = `
		INSERT INTO user_settings (user_type, user_id, digest_at)
		VALUES (@user_type, @user_id, @digest_at::text::time)`
	insertPreference = `
		INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start,
		                                           quiet_hours_end, priority)
		VALUES (@user_type, @user_id, @channel, coalesce(@enabled, true), @start::text IS NOT NULL OR @end::text IS NOT NULL,
		        @start::text::time, @end::text::time, coalesce(@priority, 'NORMAL'))`
	insertCategory = `
		INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled)
		VALUES (@user_type, @user_id, @category, @channel, false)`
)

// emptied are the tables with rows of people. The others go with recipient.
var emptied = []string{
	"recipient", "user_settings", "user_notification_preferences", "user_category_preferences", "entity_follow", "entity_mute",
}

// fill replaces the people of the last test, in one transaction and round trip. A person that the database
// refuses is a [rules.Mistake].
func (s *schema) fill(ctx context.Context, test rules.Test) error {
	batch := &pgx.Batch{}
	of := []int{} // the lines of the statements
	for _, table := range emptied {
		batch.Queue("DELETE FROM " + table)
		of = append(of, test.Line)
	}
	for _, person := range test.People {
		queue(batch, person)
		for len(of) < batch.Len() {
			of = append(of, person.Line)
		}
	}
	results := s.Pool.SendBatch(ctx, batch)
	for _, line := range of {
		if _, err := results.Exec(); err != nil {
			_ = results.Close()
			return refusal(err, test.File, line)
		}
	}
	return db.Wrap(results.Close(), "write the people of a test")
}

// queue adds the statements that insert a person.
func queue(batch *pgx.Batch, p rules.TestPerson) {
	userType, userID, _ := strings.Cut(string(p.Is), "/")
	add := func(query string, more pgx.NamedArgs) {
		more["user_type"], more["user_id"] = userType, userID
		batch.Queue(query, more)
	}
	add(insertRecipient, pgx.NamedArgs{
		"name": p.Name, "email": p.Email, "phone": p.Phone, "slack_webhook_url": p.SlackWebhookURL, "webhook_url": p.WebhookURL,
		"locale": p.Locale, "timezone": p.Timezone, "active": p.Active,
	})
	if len(p.Devices) > 0 {
		add(insertDevices, pgx.NamedArgs{"devices": p.Devices})
	}
	of := func(entity rules.Reference, more pgx.NamedArgs) pgx.NamedArgs {
		more["entity_type"], more["entity_id"], _ = strings.Cut(string(entity), "/")
		return more
	}
	for _, group := range p.Member {
		add(insertMember, of(group, pgx.NamedArgs{"role": p.Role}))
	}
	for entity, level := range p.Follows {
		add(insertFollow, of(entity, pgx.NamedArgs{"level": level}))
	}
	for _, entity := range p.Mutes {
		add(insertMute, of(entity, pgx.NamedArgs{}))
	}
	if p.DigestAt != nil {
		add(insertSettings, pgx.NamedArgs{"digest_at": p.DigestAt})
	}
	for channel, set := range p.Preferences {
		add(insertPreference, pgx.NamedArgs{
			"channel": channel, "enabled": set.Enabled, "start": set.QuietHoursStart, "end": set.QuietHoursEnd, "priority": set.Priority,
		})
	}
	for category, channels := range p.CategoriesOff {
		for _, channel := range channels {
			add(insertCategory, pgx.NamedArgs{"category": category, "channel": channel})
		}
	}
}

// refusal returns the error of a statement, with the place in the file if the values are wrong.
func refusal(err error, file string, line int) error {
	if problem, refused := rules.Refusal(err); refused {
		return rules.Mistake{File: file, Line: line, Problem: problem}
	}
	return db.Wrap(err, "write the people of a test")
}

// key returns the key of a person.
func key(who rules.Reference) notification.RecipientKey {
	userType, userID, _ := strings.Cut(string(who), "/")
	return notification.RecipientKey{UserType: notification.UserType(userType), UserID: userID}
}
