package attempt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

// The rules that planned a delivery see changes during its wait. Fewer rules apply if an operator
// ordered the delivery.
func TestBeginAttemptAfterAWait(t *testing.T) {
	t.Parallel()

	const (
		preference = "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled, quiet_hours_enabled, quiet_hours_start, quiet_hours_end) VALUES ('RESTAURANT_USER', '10', 'EMAIL', "
		setting    = "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, enabled, allowed_roles, quiet_hours_start, quiet_hours_end, max_recipients) VALUES ('RESTAURANT', '5', 'EMAIL', "
		mandatory  = "; UPDATE event_type_channel_routing SET mandatory = true"
		older      = "; UPDATE notification SET entity_type = NULL, entity_id = NULL"
		broadcast  = "; UPDATE notification SET entity_type = 'BROADCAST', entity_id = '0'"
		off        = preference + "false, false, NULL, NULL)"
		groupOff   = setting + "NULL, false, NULL, NULL, NULL, NULL)"
		chefsOut   = setting + "NULL, true, '{MANAGER}', NULL, NULL, NULL)"
		category   = "INSERT INTO event_category (event_type, category) VALUES ('RESERVATION_REQUESTED', 'offers'); INSERT INTO user_category_preferences (user_type, user_id, category, channel_type, enabled) VALUES ('RESTAURANT_USER', '10', "
		offersOff  = category + "'offers', 'EMAIL', false)"
		suppressed = "INSERT INTO recipient_suppression (channel, address_hash, reason) VALUES "
		quiet      = preference + "true, true, '00:00', '23:59:59.999999')"
	)
	tests := []struct {
		name    string
		sql     string
		dropped string
		ordered string // the same, for a delivery that an operator ordered
	}{
		{name: "no change", sql: "SELECT 1"},
		{name: "left the directory", sql: "DELETE FROM recipient", dropped: notification.NoLongerRecipient, ordered: notification.NoLongerRecipient},
		{name: "not active", sql: "UPDATE recipient SET active = false", dropped: notification.NoLongerRecipient, ordered: notification.NoLongerRecipient},
		{name: "left the entity", sql: "DELETE FROM entity_member", dropped: notification.NoLongerRecipient},
		{name: "not active in the entity", sql: "UPDATE entity_member SET active = false", dropped: notification.NoLongerRecipient},
		{name: "left an entity that was not stored", sql: "DELETE FROM entity_member" + older},
		{name: "not a member, of a broadcast", sql: "DELETE FROM entity_member" + broadcast},
		{name: "opted out", sql: off, dropped: "USER_DISABLED"},
		{name: "opted out of a mandatory channel", sql: off + mandatory},
		{name: "opted out of its category", sql: offersOff, dropped: "USER_DISABLED"},
		{name: "opted out of its category, which is mandatory", sql: offersOff + mandatory},
		{name: "opted out of another category", sql: category + "'news', 'EMAIL', false)"},
		{name: "opted out of its category over another channel", sql: category + "'offers', 'SMS', false)"},
		{name: "opted in again", sql: category + "'offers', 'EMAIL', true)"},
		{name: "opted out of a former category of the type", sql: offersOff + "; DELETE FROM event_category"},
		{name: "opted out, after the route was deleted", sql: off + "; DELETE FROM event_type_channel_routing", dropped: "USER_DISABLED"},
		{name: "the group switched it off", sql: groupOff, dropped: "GROUP_DISABLED"},
		{name: "the group switched off a mandatory channel", sql: groupOff + mandatory},
		{name: "a group that was not stored", sql: groupOff + older},
		{name: "the group's row for the type", sql: groupOff + "; " + setting + "'RESERVATION_REQUESTED', true, NULL, NULL, NULL, NULL)"},
		{name: "the role is not allowed", sql: chefsOut + mandatory, dropped: "ROLE_RESTRICTED"},
		{name: "a role that is allowed", sql: chefsOut + "; UPDATE entity_member SET role = 'MANAGER'"},
		{name: "the channel does not serve them", sql: "DELETE FROM channel_user_type WHERE channel_type = 'EMAIL'", dropped: "UNSUPPORTED"},
		{name: "no address", sql: "UPDATE recipient SET email = ''", dropped: "NO_ADDRESS", ordered: "NO_ADDRESS"},
		{name: "suppressed", sql: suppressed + "('EMAIL', sha256('new@example.com'), 'BOUNCE')", dropped: "SUPPRESSED", ordered: "SUPPRESSED"},
		{name: "suppressed, in another spelling", sql: suppressed + "('EMAIL', sha256('new@example.com'), 'BOUNCE'); UPDATE recipient SET email = ' New@Example.com'; UPDATE event_type_channel_routing SET mandatory = true", dropped: "SUPPRESSED", ordered: "SUPPRESSED"},
		{name: "only other addresses suppressed", sql: suppressed + "('EMAIL', sha256('to-EMAIL'), 'BOUNCE'), ('SMS', sha256('new@example.com'), 'OPT_OUT'), ('EMAIL', sha256('old@example.com'), 'COMPLAINT')"},
		{name: "max_recipients, which only planning checks", sql: setting + "NULL, true, NULL, NULL, NULL, 0)"},
		{name: "quiet hours", sql: quiet, dropped: "QUIET_HOURS"},
	}
	s := roomtest.New(t, roomtest.PlanWaitedMail)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for ordered, want := range map[bool]string{false: tt.dropped, true: tt.ordered} {
				roomtest.Empty(t, s)
				roomtest.PlanWaitedMail(t, s)
				postgrestest.Exec(t, s, tt.sql)

				attempt := roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Ordered: ordered})[0]

				require.Equal(t, want, attempt.Dropped)
				got := roomtest.Delivery(t, s, roomtest.Mail)
				if want != "" {
					require.Equal(t, notification.Cancelled, attempt.Status)
					require.Equal(t, roomtest.Row{Status: "CANCELLED", Title: new("title"), Body: new("body"), Address: new("to-EMAIL"), Error: new(want)}, got)
					require.Zero(t, postgrestest.Get[int](t, s, "SELECT num_nonnulls(attempt_owner, attempt_until, attempt_began) FROM notification"))
					continue
				}
				require.Equal(t, "new@example.com", attempt.Message.To)
				require.Equal(t, new("new@example.com"), got.Address)
				require.Equal(t, 1, got.Attempts)
			}
		})
	}
}

// The quiet hours of the recipient and of the group apply, unless an operator has hastened
// the delivery. A delivery that must wait keeps its attempts, and records until when.
func TestBeginAttemptJudgesQuietHours(t *testing.T) {
	t.Parallel()

	const always, never = "'00:00', '23:59:59.999999'", "'23:59:59.999998', '23:59:59.999999'"
	const own = "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end) VALUES ('RESTAURANT_USER', '10', 'EMAIL', true, "
	const group = "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, quiet_hours_start, quiet_hours_end) VALUES ('RESTAURANT', '5', 'EMAIL', "
	const deferred = "UPDATE event_type_channel_routing SET quiet_hours_action = 'DEFER'"
	const ignored = "UPDATE event_type_channel_routing SET quiet_hours_action = 'IGNORE'"
	tests := []struct {
		name     string
		sql      []string
		dropped  bool
		deferred bool
	}{
		{name: "no quiet hours"},
		{name: "the recipient's, not now", sql: []string{own + never + ")"}},
		{name: "the recipient's", sql: []string{own + always + ")"}, dropped: true},
		{name: "the recipient's, deferred", sql: []string{own + always + ")", deferred}, deferred: true},
		{name: "the group's", sql: []string{group + always + ")"}, dropped: true},
		{name: "the group's, deferred", sql: []string{group + always + ")", deferred}, deferred: true},
		{name: "the recipient's, ignored", sql: []string{own + always + ")", ignored}},
		{name: "the group's, ignored", sql: []string{group + always + ")", ignored}},
		{name: "the group's, not now", sql: []string{group + never + ")"}},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.PlanWaitedMail(t, s)
			for _, sql := range tt.sql {
				postgrestest.Exec(t, s, sql)
			}

			if !tt.dropped {
				defer func() {
					roomtest.RunOut(t, s)
					require.NoError(t, attempt.On(s).Reschedule(t.Context(), roomtest.Mail, time.Time{}))
					hastened := roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}})[0]
					require.Equal(t, tt.deferred, hastened.Number == 1)
				}()
			}

			attempt := roomtest.Begin(t, s, roomtest.Mail, 0)

			require.Equal(t, tt.dropped, attempt.Dropped == string(notification.DecisionQuietHours))
			require.Equal(t, tt.deferred, !attempt.NotBefore.IsZero())
			require.Equal(t, !tt.dropped && !tt.deferred, attempt.Number == 1)
			if tt.deferred {
				require.Equal(t, time.UTC, attempt.NotBefore.Location())
				require.Contains(t, attempt.Wait, "Europe/Rome: quiet hours")
				require.Equal(t, roomtest.Row{Status: "PENDING", Title: new("title"), Body: new("body"), Address: new("to-EMAIL")}, roomtest.Delivery(t, s, roomtest.Mail))
				require.WithinDuration(t, attempt.NotBefore, postgrestest.Get[time.Time](t, s, "SELECT next_attempt_at FROM notification WHERE send_after IS NULL"), time.Millisecond)
			}
		})
	}
}

// A rejected account uses up no attempt, and a day of rejections leaves two rows.
func TestRejectedAccountUsesUpNothing(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	require.Equal(t, notification.Tried{Begun: 1}, roomtest.Begin(t, s, roomtest.Mail, 0).Tried)
	roomtest.EndAttempt(t, s, 1, notification.OutcomeBusy, "sendgrid is busy: 429")
	for range 4 {
		attempt := roomtest.Begin(t, s, roomtest.Mail, 0)
		require.Equal(t, 1, attempt.Ended)
		require.Zero(t, attempt.Crashed)
		require.LessOrEqual(t, attempt.Number, 3)
		require.Equal(t, attempt.Number == 3, attempt.Rejected > 0)
		roomtest.EndAttempt(t, s, attempt.Number, notification.OutcomeAccount, "sendgrid rejected our account: 401")
	}
	postgrestest.Exec(t, s, "UPDATE delivery_attempt SET started_at = now() - interval '25 hours' WHERE attempt = 2")
	attempt := roomtest.Begin(t, s, roomtest.Mail, 0)
	require.Equal(t, 25*time.Hour, attempt.Rejected.Truncate(time.Hour))
	roomtest.EndAttempt(t, s, attempt.Number, notification.OutcomeAmbiguous, "sendgrid gave no clear answer: 503")

	last := roomtest.Begin(t, s, roomtest.Mail, 0)
	require.Equal(t, 4, last.Number)
	require.Equal(t, 2, last.Ended)
	require.Equal(t, "BUSY,ACCOUNT,AMBIGUOUS", postgrestest.Get[string](t, s, "SELECT string_agg(coalesce(outcome, ''), ',' ORDER BY attempt) FROM delivery_attempt"))
	require.Equal(t, notification.Tried{Begun: 1}, roomtest.Begin(t, s, roomtest.Mail, 4).Tried, "of a run that begins here")
}

// An outage uses up no attempt for as long as the policy says, and leaves two rows meanwhile.
func TestOutageUsesUpNothing(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	again := func() notification.Attempt {
		return roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Outage: time.Hour})[0]
	}
	for i, outcome := range []notification.AttemptOutcome{notification.OutcomeBusy, notification.OutcomeUnreachable, notification.OutcomeBusy, notification.OutcomeBusy} {
		attempt := again()
		require.Zero(t, attempt.Ended)
		require.Equal(t, i > 0, attempt.Outage > 0)
		require.LessOrEqual(t, attempt.Number, 2)
		roomtest.EndAttempt(t, s, attempt.Number, outcome, "sendgrid is busy: 429")
	}
	postgrestest.Exec(t, s, "UPDATE delivery_attempt SET started_at = now() - interval '65 minutes' WHERE attempt = 1")
	for ended := range 3 {
		attempt := again()
		require.Equal(t, ended+1, attempt.Ended, "the last attempt began after the hour")
		require.Equal(t, 65*time.Minute, attempt.Outage.Truncate(time.Minute))
		require.Equal(t, ended+3, attempt.Number)
		roomtest.EndAttempt(t, s, attempt.Number, notification.OutcomeUnreachable, "sendgrid was out of reach: no connection")
	}
}

// A message that a provider may have counts its attempts from then on.
func TestTiedAttempts(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	for i, outcome := range []notification.AttemptOutcome{notification.OutcomeUnavailable, notification.OutcomeAmbiguous, notification.OutcomeBusy, notification.OutcomeSent} {
		attempt := roomtest.Begin(t, s, roomtest.Mail, 0)
		require.Equal(t, max(0, i-1), attempt.Tied)
		require.Equal(t, i > 1, attempt.TiedFor > 0)
		require.Equal(t, min(i, 3), attempt.Ended)
		roomtest.EndAttempt(t, s, attempt.Number, outcome, "")
	}
}

// The rules judge each item of a digest separately. Each attempt shows the dropped items.
func TestBeginDigestJudgesItsItems(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(5))
	postgrestest.Exec(t, s, "UPDATE recipient SET email = 'new@example.com'")
	postgrestest.Exec(t, s, "UPDATE notification SET entity_type = 'RESTAURANT', entity_id = id - (SELECT min(id) FROM notification) + 1")
	postgrestest.Exec(t, s, `
		INSERT INTO entity_member (entity_type, entity_id, user_type, user_id, role)
		SELECT 'RESTAURANT', i, 'RESTAURANT_USER', '10', 'CHEF' FROM generate_series(2, 5) AS i`)
	postgrestest.Exec(t, s, "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, enabled) VALUES ('RESTAURANT', '3', 'EMAIL', false)")
	postgrestest.Exec(t, s, `
		INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, quiet_hours_start, quiet_hours_end)
		VALUES ('RESTAURANT', '5', 'EMAIL', '00:00', '23:59:59.999999')`)
	roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails)

	postgrestest.Exec(t, s, roomtest.Past)
	attempt := roomtest.BeginDigest(t, s, "digest-1")

	dropped := map[string]string{roomtest.Item(1): notification.NoLongerRecipient, roomtest.Item(3): "GROUP_DISABLED", roomtest.Item(5): "QUIET_HOURS"}
	require.Equal(t, items(2, 2), listedIn(attempt)[:1])
	require.Equal(t, items(4, 4), listedIn(attempt)[1:])
	require.Equal(t, dropped, attempt.Dropped)
	require.Equal(t, "new@example.com", attempt.Message().To)
	require.Equal(t, new("new@example.com"), roomtest.Delivery(t, s, roomtest.Item(2)).Address)
	require.Equal(t, 0, roomtest.Delivery(t, s, roomtest.Item(1)).Attempts)
	require.Equal(t, "CANCELLED", roomtest.Delivery(t, s, roomtest.Item(1)).Status)
	require.Equal(t, new("GROUP_DISABLED"), roomtest.Delivery(t, s, roomtest.Item(3)).Error)
	roomtest.EndDigest(t, s, attempt, roomtest.DigestBusy)

	postgrestest.Exec(t, s, "INSERT INTO user_notification_preferences (user_type, user_id, channel_type, enabled) VALUES ('RESTAURANT_USER', '10', 'EMAIL', false)")
	again := roomtest.BeginDigest(t, s, "digest-1")
	require.Empty(t, again.Begun)
	require.Zero(t, again.Sent)
	dropped[roomtest.Item(2)], dropped[roomtest.Item(4)] = "USER_DISABLED", "USER_DISABLED"
	require.Equal(t, dropped, again.Dropped)
}

// The quiet hours of each delivery that a digest lists apply to the digest.
func TestQuietCheck(t *testing.T) {
	t.Parallel()

	const (
		staff    = "INSERT INTO recipient (user_type, user_id, timezone) VALUES ('RESTAURANT_USER', '10', 'Europe/Rome')"
		deferred = "INSERT INTO event_type_channel_routing (event_type, channel_type, quiet_hours_action) VALUES ('RESERVATION_REQUESTED', 'EMAIL', 'DEFER'), ('RESERVATION_REQUESTED', 'SMS', 'DROP')"
		own      = `INSERT INTO user_notification_preferences (user_type, user_id, channel_type, quiet_hours_enabled, quiet_hours_start, quiet_hours_end)
		            VALUES ('RESTAURANT_USER', '10', 'EMAIL', true, '22:30:15', '07:00'), ('RESTAURANT_USER', '10', 'SMS', true, '01:00', '02:00')`
		abroad = "INSERT INTO user_settings (user_type, user_id, timezone) VALUES ('RESTAURANT_USER', '10', 'America/New_York'), ('CUSTOMER', '10', 'Asia/Kathmandu')"
		off    = "UPDATE user_notification_preferences SET quiet_hours_enabled = false"
		group  = `INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type, quiet_hours_start, quiet_hours_end, quiet_hours_timezone)
		         VALUES ('RESTAURANT', '5', 'EMAIL', NULL, '22:00', '07:00', 'Europe/Rome'), ('RESTAURANT', '5', 'SMS', NULL, '01:00', '02:00', NULL),
		                ('RESTAURANT', '6', 'EMAIL', NULL, '03:00', '04:00', NULL), ('CUSTOMER', '0', 'EMAIL', NULL, '05:00', '06:00', NULL)`
		ofType = "INSERT INTO entity_notification_settings (entity_type, entity_id, channel_type, event_type) VALUES ('RESTAURANT', '5', 'EMAIL', 'RESERVATION_REQUESTED')"
		older  = "UPDATE notification SET entity_type = NULL, entity_id = NULL"
		at     = "INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy, digest_at) VALUES ('RESERVATION_REQUESTED', 'EMAIL', 'AGGREGATE', '09:00')"
		window = "INSERT INTO event_type_channel_routing (event_type, channel_type, delivery_strategy) VALUES ('RESERVATION_REQUESTED', 'EMAIL', 'AGGREGATE')"
		chosen = "INSERT INTO user_settings (user_type, user_id, digest_at) VALUES ('RESTAURANT_USER', '10', '23:00')"
	)
	evening := &notification.QuietHours{Start: 22*time.Hour + 30*time.Minute + 15*time.Second, End: 7 * time.Hour}
	night := &notification.QuietHours{Start: 22 * time.Hour, End: 7 * time.Hour}
	tests := []struct {
		name     string
		rows     []string
		action   notification.QuietHoursAction
		timezone string
		own      *notification.QuietHours
		group    *notification.QuietHours
	}{
		{name: "unknown recipient without rules"},
		{name: "the recipient's", rows: []string{staff, deferred, own}, action: notification.Defer, timezone: "Europe/Rome", own: evening},
		{name: "in the zone that they have set", rows: []string{staff, deferred, own, abroad}, action: notification.Defer, timezone: "America/New_York", own: evening},
		{name: "off", rows: []string{staff, own, off}, timezone: "Europe/Rome"},
		{name: "the entity's", rows: []string{group}, group: night},
		{name: "the entity's row for the event's type, without quiet hours", rows: []string{group, ofType}},
		{name: "an entity that was not stored", rows: []string{group, older}},
		{name: "the type's time of digests", rows: []string{staff, own, at}, timezone: "Europe/Rome", own: evening},
		{name: "a time that the recipient chose", rows: []string{staff, own, at, chosen}, timezone: "Europe/Rome"},
		{name: "a time that the recipient chose, and an entity's quiet hours", rows: []string{staff, own, at, chosen, group}, timezone: "Europe/Rome", group: night},
		{name: "a time that the recipient chose, for digests without one", rows: []string{staff, own, window, chosen}, timezone: "Europe/Rome", own: evening},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.PlanMail(t, s)
			postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE', entity_type = 'RESTAURANT', entity_id = '5'")
			for _, sql := range tt.rows {
				postgrestest.Exec(t, s, sql)
			}

			check := roomtest.Must(attempt.On(s).QuietCheck(t.Context(), roomtest.Mail))(t)
			ofDigest, err := attempt.On(s).DigestQuietCheck(t.Context(), notification.DigestKey{
				UserType: notification.RestaurantUser, UserID: "10", Channel: notification.Email, EventType: "RESERVATION_REQUESTED",
			})
			require.NoError(t, err)

			require.WithinDuration(t, time.Now(), check.Now, time.Minute)
			ofDigest.Now = check.Now
			require.Equal(t, check, ofDigest)
			require.Equal(t, tt.action == notification.Defer, check.Action == notification.Defer)
			require.Equal(t, tt.timezone, check.Timezone)
			require.Equal(t, notification.Email, check.Preference.Channel)
			require.Equal(t, tt.own, check.Preference.QuietHours)
			if tt.group == nil {
				require.Empty(t, check.Groups)
			} else {
				require.Len(t, check.Groups, 1)
				require.Equal(t, tt.group, check.Groups[0].QuietHours)
				require.Equal(t, "Europe/Rome", check.Groups[0].QuietTimezone)
			}
		})
	}
}
