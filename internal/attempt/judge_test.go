package attempt_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"herald/internal/attempt"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/roomtest"
)

type rows = []postgrestest.Row

const (
	mandatory = "UPDATE event_type_channel_routing SET mandatory = true"
	follows   = "INSERT INTO entity_follow (entity_type, entity_id, user_type, user_id) VALUES ('RESTAURANT', '5', 'RESTAURANT_USER', '10')"
	// followerOf makes the delivery one of a follower.
	followerOf = "INSERT INTO event_type_recipients (event_type, entity_type, entity_id_path, roles) VALUES ('RESERVATION_REQUESTED', " +
		"'RESTAURANT', 'restaurantId', '{MANAGER,FOLLOWER}'); UPDATE notification SET member_role = 'FOLLOWER'; " + follows
	older = "UPDATE notification SET entity_type = NULL, entity_id = NULL"
)

// The rows that the cases add.
var (
	off       = postgrestest.Preference{Off: true}
	groupOff  = postgrestest.GroupSetting{Off: true}
	chefsOut  = postgrestest.GroupSetting{AllowedRoles: []string{"MANAGER"}}
	ofType    = postgrestest.GroupSetting{EventType: "RESERVATION_REQUESTED"}
	category  = postgrestest.Category{EventType: "RESERVATION_REQUESTED"}
	noOffers  = postgrestest.CategoryPreference{Off: true}
	bounced   = postgrestest.Suppression{AddressHash: roomtest.Hashed("new@example.com")}
	elsewhere = rows{
		postgrestest.Suppression{AddressHash: roomtest.Hashed("to-EMAIL")},
		postgrestest.Suppression{AddressHash: roomtest.Hashed("new@example.com"), Channel: notification.SMS,
			Reason: notification.SuppressedOptOut},
		postgrestest.Suppression{AddressHash: roomtest.Hashed("old@example.com"), Reason: notification.SuppressedComplaint},
	}
)

// changesDuringAWait change what the rules say about a delivery that waits.
var changesDuringAWait = []struct {
	name    string
	rows    rows
	sql     string
	dropped string
	ordered string // the same, for a delivery that an operator ordered
}{
	{name: "no change"},
	{name: "left the directory", sql: "DELETE FROM recipient", dropped: notification.NoLongerRecipient,
		ordered: notification.NoLongerRecipient},
	{name: "not active", sql: "UPDATE recipient SET active = false", dropped: notification.NoLongerRecipient,
		ordered: notification.NoLongerRecipient},
	{name: "left the entity", sql: "DELETE FROM entity_member", dropped: notification.NoLongerRecipient},
	{name: "not active in the entity", sql: "UPDATE entity_member SET active = false", dropped: notification.NoLongerRecipient},
	{name: "left an entity that was not stored", sql: "DELETE FROM entity_member; " + older},
	{name: "not a member, of a broadcast",
		sql: "DELETE FROM entity_member; UPDATE notification SET entity_type = 'BROADCAST', entity_id = '0'"},
	{name: "a follower", sql: followerOf},
	{name: "unfollowed, and is a member", sql: followerOf + "; DELETE FROM entity_follow", dropped: notification.NoLongerRecipient},
	{name: "follows now, but followers are not told", sql: "DELETE FROM entity_member; " + follows, dropped: notification.NoLongerRecipient},
	{name: "left, and follows", sql: followerOf + "; UPDATE notification SET member_role = 'MANAGER'; DELETE FROM entity_member"},
	{name: "follows for what is important", sql: followerOf + "; UPDATE entity_follow SET level = 'IMPORTANT'", dropped: "MUTED"},
	{name: "muted", rows: rows{postgrestest.Mute{}}, dropped: "MUTED"},
	{name: "muted something else", rows: rows{postgrestest.Mute{EntityID: "6"}}},
	{name: "opted out", rows: rows{off}, dropped: "USER_DISABLED"},
	{name: "opted out of a mandatory channel", rows: rows{off}, sql: mandatory},
	{name: "opted out of its category", rows: rows{category, noOffers}, dropped: "USER_DISABLED"},
	{name: "opted out of its category, which is mandatory", rows: rows{category, noOffers}, sql: mandatory},
	{name: "opted out of another category", rows: rows{category, postgrestest.CategoryPreference{Category: "news", Off: true}}},
	{name: "opted out of its category over another channel",
		rows: rows{category, postgrestest.CategoryPreference{Channel: notification.SMS, Off: true}}},
	{name: "opted in again", rows: rows{category, postgrestest.CategoryPreference{}}},
	{name: "opted out of a former category of the type", rows: rows{noOffers}},
	{name: "opted out, after the route was deleted", rows: rows{off}, sql: "DELETE FROM event_type_channel_routing",
		dropped: "USER_DISABLED"},
	{name: "the group switched it off", rows: rows{groupOff}, dropped: "GROUP_DISABLED"},
	{name: "the group switched off a mandatory channel", rows: rows{groupOff}, sql: mandatory},
	{name: "a group that was not stored", rows: rows{groupOff}, sql: older},
	{name: "the group's row for the type", rows: rows{groupOff, ofType}},
	{name: "the role is not allowed", rows: rows{chefsOut}, sql: mandatory, dropped: "ROLE_RESTRICTED"},
	{name: "a role that is allowed", rows: rows{chefsOut}, sql: "UPDATE entity_member SET role = 'MANAGER'"},
	{name: "the channel does not serve them", sql: "DELETE FROM channel_user_type WHERE channel_type = 'EMAIL'", dropped: "UNSUPPORTED"},
	{name: "no address", sql: "UPDATE recipient SET email = ''", dropped: "NO_ADDRESS", ordered: "NO_ADDRESS"},
	{name: "suppressed", rows: rows{bounced}, dropped: "SUPPRESSED", ordered: "SUPPRESSED"},
	{
		name: "suppressed, in another spelling", rows: rows{bounced}, sql: "UPDATE recipient SET email = ' New@Example.com'; " + mandatory,
		dropped: "SUPPRESSED", ordered: "SUPPRESSED",
	},
	{name: "only other addresses suppressed", rows: elsewhere},
	{name: "max_recipients, which only planning checks", rows: rows{postgrestest.GroupSetting{MaxRecipients: new(0)}}},
	{name: "quiet hours", rows: rows{roomtest.AlwaysQuiet}, dropped: "QUIET_HOURS"},
}

// The rules that planned a delivery see changes during its wait. Fewer rules apply if an operator
// ordered the delivery.
func TestBeginAttemptAfterAWait(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanWaitedMail)
	for _, tt := range changesDuringAWait {
		t.Run(tt.name, func(t *testing.T) {
			for ordered, want := range map[bool]string{false: tt.dropped, true: tt.ordered} {
				roomtest.Empty(t, s)
				roomtest.PlanWaitedMail(t, s)
				postgrestest.Add(t, s.Pool, tt.rows...)
				postgrestest.Exec(t, s, tt.sql)

				attempt := roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Ordered: ordered})[0]

				require.Equal(t, want, attempt.Dropped)
				got := roomtest.Delivery(t, s, roomtest.Mail)
				if want != "" {
					require.Equal(t, notification.Cancelled, attempt.Status)
					require.Equal(t, roomtest.Row{Status: "CANCELLED", Title: new("title"), Body: new("body"), Address: new("to-EMAIL"),
						Error: new(want)}, got)
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

	never := postgrestest.Preference{QuietStart: "23:59:59.999998", QuietEnd: "23:59:59.999999"}
	ofGroup := func(p postgrestest.Preference) postgrestest.Row {
		return postgrestest.GroupSetting{QuietStart: p.QuietStart, QuietEnd: p.QuietEnd}
	}
	tests := []struct {
		name     string
		row      postgrestest.Row
		action   notification.QuietHoursAction
		dropped  bool
		deferred bool
	}{
		{name: "no quiet hours"},
		{name: "the recipient's, not now", row: never},
		{name: "the recipient's", row: roomtest.AlwaysQuiet, dropped: true},
		{name: "the recipient's, deferred", row: roomtest.AlwaysQuiet, action: notification.Defer, deferred: true},
		{name: "the group's", row: ofGroup(roomtest.AlwaysQuiet), dropped: true},
		{name: "the group's, deferred", row: ofGroup(roomtest.AlwaysQuiet), action: notification.Defer, deferred: true},
		{name: "the recipient's, ignored", row: roomtest.AlwaysQuiet, action: notification.Ignore},
		{name: "the group's, ignored", row: ofGroup(roomtest.AlwaysQuiet), action: notification.Ignore},
		{name: "the group's, not now", row: ofGroup(never)},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.PlanWaitedMail(t, s)
			if tt.row != nil {
				postgrestest.Add(t, s.Pool, tt.row)
			}
			postgrestest.Exec(t, s, "UPDATE event_type_channel_routing SET quiet_hours_action = coalesce(nullif($1, ''), 'DROP')", tt.action)

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
				require.Equal(t, roomtest.Row{Status: "PENDING", Title: new("title"), Body: new("body"), Address: new("to-EMAIL")},
					roomtest.Delivery(t, s, roomtest.Mail))
				require.WithinDuration(t, attempt.NotBefore, postgrestest.Get[time.Time](t, s,
					"SELECT next_attempt_at FROM notification WHERE send_after IS NULL"), time.Millisecond)
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
	require.Equal(t, "BUSY,ACCOUNT,AMBIGUOUS", postgrestest.Get[string](t, s,
		"SELECT string_agg(coalesce(outcome, ''), ',' ORDER BY attempt) FROM delivery_attempt"))
	require.Equal(t, notification.Tried{Begun: 1}, roomtest.Begin(t, s, roomtest.Mail, 4).Tried, "of a run that begins here")
}

// An outage uses up no attempt for as long as the policy says, and leaves two rows meanwhile.
func TestOutageUsesUpNothing(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.PlanMail)
	again := func() notification.Attempt {
		return roomtest.BeginAs(t, s, notification.Begin{DeliveryIDs: []string{roomtest.Mail}, Outage: time.Hour})[0]
	}
	for i, outcome := range []notification.AttemptOutcome{notification.OutcomeBusy, notification.OutcomeUnreachable,
		notification.OutcomeBusy, notification.OutcomeBusy} {
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
	for i, outcome := range []notification.AttemptOutcome{notification.OutcomeUnavailable, notification.OutcomeAmbiguous,
		notification.OutcomeBusy, notification.OutcomeSent} {
		attempt := roomtest.Begin(t, s, roomtest.Mail, 0)
		require.Equal(t, max(0, i-1), attempt.Tied)
		require.Equal(t, i > 1, attempt.TiedFor > 0)
		require.Equal(t, min(i, 3), attempt.Ended)
		roomtest.EndAttempt(t, s, attempt.Number, outcome, "")
	}
}

// The rules evaluate each item of a digest separately. Each attempt shows the dropped items.
func TestBeginDigestJudgesItsItems(t *testing.T) {
	t.Parallel()

	s := roomtest.New(t, roomtest.WaitingItems(5))
	postgrestest.Exec(t, s, "UPDATE recipient SET email = 'new@example.com'")
	postgrestest.Exec(t, s, "UPDATE notification SET entity_type = 'RESTAURANT', entity_id = id - (SELECT min(id) FROM notification) + 1")
	postgrestest.AddMany(t, s.Pool, 4, postgrestest.Member{Role: "CHEF"}, postgrestest.Expressions{"entity_id": "i + 1"})
	postgrestest.Add(t, s.Pool,
		postgrestest.GroupSetting{EntityID: "3", Off: true}, postgrestest.GroupSetting{QuietStart: "00:00", QuietEnd: "23:59:59.999999"})
	roomtest.Seal(t, s, "digest-1", roomtest.ReviewMails)

	postgrestest.Exec(t, s, roomtest.Past)
	attempt := roomtest.BeginDigest(t, s, "digest-1")

	dropped := map[string]string{roomtest.Item(1): notification.NoLongerRecipient, roomtest.Item(3): "GROUP_DISABLED",
		roomtest.Item(5): "QUIET_HOURS"}
	require.Equal(t, items(2, 2), listedIn(attempt)[:1])
	require.Equal(t, items(4, 4), listedIn(attempt)[1:])
	require.Equal(t, dropped, attempt.Dropped)
	require.Equal(t, "new@example.com", attempt.Message().To)
	require.Equal(t, new("new@example.com"), roomtest.Delivery(t, s, roomtest.Item(2)).Address)
	require.Equal(t, 0, roomtest.Delivery(t, s, roomtest.Item(1)).Attempts)
	require.Equal(t, "CANCELLED", roomtest.Delivery(t, s, roomtest.Item(1)).Status)
	require.Equal(t, new("GROUP_DISABLED"), roomtest.Delivery(t, s, roomtest.Item(3)).Error)
	roomtest.EndDigest(t, s, attempt, roomtest.DigestBusy)

	postgrestest.Add(t, s.Pool, postgrestest.Preference{Off: true})
	again := roomtest.BeginDigest(t, s, "digest-1")
	require.Empty(t, again.Begun)
	require.Zero(t, again.Sent)
	dropped[roomtest.Item(2)], dropped[roomtest.Item(4)] = "USER_DISABLED", "USER_DISABLED"
	require.Equal(t, dropped, again.Dropped)
}

// The quiet hours of each delivery that a digest lists apply to the digest.
func TestQuietCheck(t *testing.T) {
	t.Parallel()

	const requested = "RESERVATION_REQUESTED"
	staff := rows{postgrestest.Recipient{UserType: notification.RestaurantUser, UserID: "10", Timezone: "Europe/Rome"}}
	deferred := rows{
		postgrestest.Route{EventType: requested, QuietHoursAction: notification.Defer},
		postgrestest.Route{EventType: requested, Channel: notification.SMS},
	}
	own := rows{
		postgrestest.Preference{QuietStart: "22:30:15", QuietEnd: "07:00"},
		postgrestest.Preference{Channel: notification.SMS, QuietStart: "01:00", QuietEnd: "02:00"},
	}
	abroad := rows{
		postgrestest.UserSettings{Timezone: "America/New_York"},
		postgrestest.UserSettings{UserType: notification.Customer, Timezone: "Asia/Kathmandu"},
	}
	group := rows{
		postgrestest.GroupSetting{QuietStart: "22:00", QuietEnd: "07:00", QuietTimezone: "Europe/Rome"},
		postgrestest.GroupSetting{Channel: notification.SMS, QuietStart: "01:00", QuietEnd: "02:00"},
		postgrestest.GroupSetting{EntityID: "6", QuietStart: "03:00", QuietEnd: "04:00"},
		postgrestest.GroupSetting{EntityType: "CUSTOMER", EntityID: "0", QuietStart: "05:00", QuietEnd: "06:00"},
	}
	ofType := rows{postgrestest.GroupSetting{EventType: requested}}
	at := rows{postgrestest.Route{EventType: requested, Strategy: notification.Aggregate, DigestAt: "09:00"}}
	window := rows{postgrestest.Route{EventType: requested, Strategy: notification.Aggregate}}
	chosen := rows{postgrestest.UserSettings{DigestAt: "23:00"}}
	evening := &notification.QuietHours{Start: 22*time.Hour + 30*time.Minute + 15*time.Second, End: 7 * time.Hour}
	night := &notification.QuietHours{Start: 22 * time.Hour, End: 7 * time.Hour}
	tests := []struct {
		name     string
		rows     []rows
		sql      string
		action   notification.QuietHoursAction
		timezone string
		own      *notification.QuietHours
		group    *notification.QuietHours
	}{
		{name: "unknown recipient without rules"},
		{name: "the recipient's", rows: []rows{staff, deferred, own}, action: notification.Defer, timezone: "Europe/Rome", own: evening},
		{name: "in the zone that they have set", rows: []rows{staff, deferred, own, abroad}, action: notification.Defer,
			timezone: "America/New_York", own: evening},
		{name: "off", rows: []rows{staff, own}, sql: "UPDATE user_notification_preferences SET quiet_hours_enabled = false",
			timezone: "Europe/Rome"},
		{name: "the entity's", rows: []rows{group}, group: night},
		{name: "the entity's row for the event's type, without quiet hours", rows: []rows{group, ofType}},
		{name: "an entity that was not stored", rows: []rows{group}, sql: "UPDATE notification SET entity_type = NULL, entity_id = NULL"},
		{name: "the type's time of digests", rows: []rows{staff, own, at}, timezone: "Europe/Rome", own: evening},
		{name: "a time that the recipient chose", rows: []rows{staff, own, at, chosen}, timezone: "Europe/Rome"},
		{
			name: "a time that the recipient chose, and an entity's quiet hours", rows: []rows{staff, own, at, chosen, group},
			timezone: "Europe/Rome", group: night,
		},
		{
			name: "a time that the recipient chose, for digests without one", rows: []rows{staff, own, window, chosen},
			timezone: "Europe/Rome", own: evening,
		},
	}
	s := postgrestest.New(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			roomtest.Empty(t, s)
			roomtest.PlanMail(t, s)
			postgrestest.Exec(t, s, "UPDATE notification SET strategy = 'AGGREGATE', entity_type = 'RESTAURANT', entity_id = '5'")
			postgrestest.Add(t, s.Pool, slices.Concat(tt.rows...)...)
			postgrestest.Exec(t, s, tt.sql)

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
