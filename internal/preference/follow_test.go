package preference_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db"
	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/internal/preference"
	"herald/internal/roomtest"
)

// withFollowers returns a store with restaurants, which people can follow, and orders, which they cannot.
func withFollowers(t *testing.T) *db.DB {
	t.Helper()
	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool,
		postgrestest.Target{EventType: "MENU", EntityType: "RESTAURANT", EntityIDPath: "id", Roles: []string{"MANAGER", "FOLLOWER"}},
		postgrestest.Target{EventType: "PAID", EntityType: "ORDER", EntityIDPath: "id", Roles: []string{"OWNER"}},
		postgrestest.Target{EventType: "NEWS", EntityType: "BROADCAST", Roles: []string{"FOLLOWER"}})
	postgrestest.Exec(t, s, "INSERT INTO entity_name VALUES ('RESTAURANT', '5', 'Trattoria')")
	return s
}

// People follow what has followers, with a level, and mute anything. A repeat changes nothing more.
func TestFollowAndMute(t *testing.T) {
	t.Parallel()

	s := withFollowers(t)
	p, ctx := preference.On(s), t.Context()
	who, other := roomtest.Customer7, notification.RecipientKey{UserType: notification.Customer, UserID: "8"}
	trattoria, order := notification.Entity{Type: "RESTAURANT", ID: "5"}, notification.Entity{Type: "ORDER", ID: "a/b"}
	require.Equal(t, []string{"RESTAURANT"}, roomtest.Must(p.FollowableTypes(ctx, who))(t))
	for range 2 {
		require.NoError(t, p.Follow(ctx, who, trattoria, notification.FollowAll))
		require.NoError(t, p.Follow(ctx, who, trattoria, notification.FollowImportant))
		require.NoError(t, p.Mute(ctx, who, order))
	}
	require.Equal(t, []preference.Follow{
		{EntityType: "RESTAURANT", EntityID: "5", Level: notification.FollowImportant},
	}, roomtest.Must(p.Follows(ctx, who))(t))
	require.Equal(t, []preference.Mute{{EntityType: "ORDER", EntityID: "a/b"}}, roomtest.Must(p.Mutes(ctx, who))(t))
	require.Empty(t, roomtest.Must(p.Follows(ctx, other))(t))
	require.Empty(t, roomtest.Must(p.Mutes(ctx, other))(t))

	require.NoError(t, p.Unmute(ctx, other, order))
	require.Len(t, roomtest.Must(p.Mutes(ctx, who))(t), 1)
	for range 2 {
		require.NoError(t, p.Unfollow(ctx, who, trattoria))
		require.NoError(t, p.Unmute(ctx, who, order))
	}
	require.Empty(t, roomtest.Must(p.Follows(ctx, who))(t))
	require.Empty(t, roomtest.Must(p.Mutes(ctx, who))(t))
	require.NoError(t, preference.ByLink(p).Mute(ctx, who, order))
	require.NoError(t, preference.ByLink(p).Unmute(ctx, who, order))
	require.Equal(t, []string{
		"RESTAURANT/5 FOLLOW none ALL inbox", "RESTAURANT/5 FOLLOW ALL IMPORTANT inbox", "ORDER/a/b MUTE false true inbox",
		"RESTAURANT/5 FOLLOW IMPORTANT ALL inbox", "RESTAURANT/5 FOLLOW ALL IMPORTANT inbox",
		"RESTAURANT/5 FOLLOW IMPORTANT none inbox", "ORDER/a/b MUTE true false inbox",
		"ORDER/a/b MUTE false true link", "ORDER/a/b MUTE true false link",
	}, postgrestest.List(t, s, `
		SELECT concat_ws(' ', entity_type || '/' || entity_id, setting,
		                 coalesce(old_value, 'none'), coalesce(new_value, 'none'), changed_by)
		FROM   preference_change
		WHERE  user_id = '7'
		ORDER BY id`), "the history has each change once")
}

func TestNobodyFollowsOrMutesThese(t *testing.T) {
	t.Parallel()

	s := withFollowers(t)
	p := preference.On(s)
	for _, entity := range []notification.Entity{
		{Type: "CUSTOMER", ID: "1"}, {Type: "ADMIN", ID: "1"}, {Type: "BROADCAST", ID: "1"}, {Type: "RESTAURANT"}, {ID: "5"},
		{Type: "RESTAURANT", ID: strings.Repeat("5", 65)}, {Type: strings.Repeat("R", 61), ID: "5"}, {Type: "RESTAURANT", ID: "5\x00"},
		{Type: "RESTAURANT", ID: "\xff"},
	} {
		var refused *notification.PreferenceError
		require.ErrorAs(t, p.Follow(t.Context(), roomtest.Customer7, entity, notification.FollowAll), &refused)
		require.ErrorAs(t, p.Mute(t.Context(), roomtest.Customer7, entity), &refused)
		require.ErrorAs(t, p.Unmute(t.Context(), roomtest.Customer7, entity), &refused)
	}
	require.EqualError(t, p.Follow(t.Context(), roomtest.Customer7, notification.Entity{Type: "ORDER", ID: "7"}, notification.FollowAll),
		`you cannot follow "ORDER": no event is for followers of your type`)
}

// Nobody learns that an entity exists, or its name, by muting or following it. Who has a notification of it
// sees the name.
func TestNamesOfFollowsAndMutes(t *testing.T) {
	t.Parallel()

	s := withFollowers(t)
	p, ctx, who, trattoria := preference.On(s), t.Context(), roomtest.Customer7, notification.Entity{Type: "RESTAURANT", ID: "5"}
	postgrestest.Exec(t, s, "INSERT INTO entity_name VALUES ('CASE', '17', 'Smith v. Jones')")
	require.NoError(t, p.Follow(ctx, who, trattoria, notification.FollowAll))
	for _, entity := range []notification.Entity{trattoria, {Type: "CASE", ID: "17"}} {
		require.NoError(t, p.Mute(ctx, who, entity))
	}
	names := func() (names []string) {
		for _, follow := range roomtest.Must(p.Follows(ctx, who))(t) {
			names = append(names, follow.EntityName)
		}
		for _, mute := range roomtest.Must(p.Mutes(ctx, who))(t) {
			names = append(names, mute.EntityName)
		}
		return names
	}
	require.Equal(t, []string{"", "", ""}, names())
	postgrestest.Add(t, s.Pool,
		postgrestest.Delivery{ID: "another person's", UserID: "8", EntityType: "CASE", EntityID: "17"},
		postgrestest.Delivery{ID: "without an entity", UserID: who.UserID},
		postgrestest.Delivery{ID: "theirs", EventID: "evt-2", UserID: who.UserID, EntityType: "RESTAURANT", EntityID: "5"})
	require.Equal(t, []string{"Trattoria", "", "Trattoria"}, names())
}

// A person follows only what tells followers of their type.
func TestFollowersOfAType(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool, postgrestest.Target{EventType: "SHIFT", UserType: notification.RestaurantUser, EntityType: "RESTAURANT",
		EntityIDPath: "id", Roles: []string{"FOLLOWER"}})
	p, ctx, trattoria := preference.On(s), t.Context(), notification.Entity{Type: "RESTAURANT", ID: "5"}
	require.Empty(t, roomtest.Must(p.FollowableTypes(ctx, roomtest.Customer7))(t))
	require.EqualError(t, p.Follow(ctx, roomtest.Customer7, trattoria, notification.FollowAll),
		`you cannot follow "RESTAURANT": no event is for followers of your type`)
	require.Equal(t, []string{"RESTAURANT"}, roomtest.Must(p.FollowableTypes(ctx, roomtest.Staff10))(t))
	require.NoError(t, p.Follow(ctx, roomtest.Staff10, trattoria, notification.FollowAll))

	postgrestest.Exec(t, s, "INSERT INTO merged_recipient (user_type, user_id, to_user_type, to_user_id) "+
		"VALUES ('GUEST', '9', 'RESTAURANT_USER', '11')")
	former := notification.RecipientKey{UserType: notification.Guest, UserID: "9"}
	require.Equal(t, []string{"RESTAURANT"}, roomtest.Must(p.FollowableTypes(ctx, former))(t))
	require.NoError(t, p.Follow(ctx, former, trattoria, notification.FollowAll))
}

// A person cannot mute or follow an entity that is the person: its events name them directly. They can
// remove a row that is there.
func TestNobodyFollowsOrMutesThemselves(t *testing.T) {
	t.Parallel()

	s := postgrestest.New(t)
	postgrestest.Add(t, s.Pool,
		postgrestest.Target{EventType: "MOVED", EntityType: "GUEST", EntityIDPath: "id", Roles: []string{"FOLLOWER"}})
	p, guest := preference.On(s), notification.RecipientKey{UserType: notification.Guest, UserID: "9"}
	self := notification.Entity{Type: "GUEST", ID: "9"}
	require.EqualError(t, p.Mute(t.Context(), guest, self), "nobody can follow or mute themselves")
	require.EqualError(t, p.Follow(t.Context(), guest, self, notification.FollowAll), "nobody can follow or mute themselves")
	require.NoError(t, p.Mute(t.Context(), roomtest.Customer7, self))
	require.NoError(t, p.Unmute(t.Context(), guest, self))

	postgrestest.Exec(t, s, "INSERT INTO merged_recipient (user_type, user_id, to_user_type, to_user_id) VALUES ('GUEST', '8', 'GUEST', '9')")
	former := notification.RecipientKey{UserType: notification.Guest, UserID: "8"}
	require.EqualError(t, p.Mute(t.Context(), former, self), "nobody can follow or mute themselves")
}

// Requests side by side do not exceed the limit, and what is there can still be changed.
func TestLimitOfFollows(t *testing.T) {
	t.Parallel()

	s := withFollowers(t)
	p, who := preference.On(s), roomtest.Customer7
	for _, table := range []string{"entity_follow", "entity_mute"} {
		postgrestest.Exec(t, s, "INSERT INTO "+table+" (user_type, user_id, entity_type, entity_id) "+
			"SELECT 'CUSTOMER', '7', 'RESTAURANT', n::text FROM generate_series(1, $1::int) n", notification.MaxFollows-2)
	}
	roomtest.SideBySide(t, 10, func(i int) error {
		entity := notification.Entity{Type: "RESTAURANT", ID: fmt.Sprint("new", i)}
		for _, err := range []error{p.Follow(t.Context(), who, entity, notification.FollowAll), p.Mute(t.Context(), who, entity)} {
			if _, full := errors.AsType[*notification.PreferenceError](err); err != nil && !full {
				return err
			}
		}
		return nil
	})
	require.Len(t, roomtest.Must(p.Follows(t.Context(), who))(t), notification.MaxFollows)
	require.Len(t, roomtest.Must(p.Mutes(t.Context(), who))(t), notification.MaxFollows)
	first := notification.Entity{Type: "RESTAURANT", ID: "1"}
	require.NoError(t, p.Follow(t.Context(), who, first, notification.FollowImportant))
	require.NoError(t, p.Mute(t.Context(), who, first))
	require.EqualError(t, p.Mute(t.Context(), who, notification.Entity{Type: "RESTAURANT", ID: "one more"}),
		"you have 1000 already, which is the most: remove one first")
}

// What a merged person follows belongs to the target of the merge, and nothing is written about erased people.
func TestFollowsOfMergedAndErasedPeople(t *testing.T) {
	t.Parallel()

	s := withFollowers(t)
	p, former := preference.On(s), notification.RecipientKey{UserType: notification.Guest, UserID: "9"}
	postgrestest.Exec(t, s, "INSERT INTO merged_recipient (user_type, user_id, to_user_type, to_user_id) VALUES ('GUEST', '9', 'CUSTOMER', '7')")
	trattoria := notification.Entity{Type: "RESTAURANT", ID: "5"}
	require.NoError(t, p.Mute(t.Context(), former, trattoria))
	require.Len(t, roomtest.Must(p.Mutes(t.Context(), roomtest.Customer7))(t), 1)
	require.NoError(t, p.Unmute(t.Context(), former, trattoria))
	require.Empty(t, roomtest.Must(p.Mutes(t.Context(), former))(t))

	postgrestest.Exec(t, s, "INSERT INTO erased_recipient (user_type, user_id) VALUES ('CUSTOMER', '7')")
	require.NoError(t, p.Mute(t.Context(), roomtest.Customer7, trattoria))
	require.NoError(t, p.Follow(t.Context(), roomtest.Customer7, trattoria, notification.FollowAll))
	require.Zero(t, postgrestest.Get[int](t, s, "SELECT (SELECT count(*) FROM entity_mute) + (SELECT count(*) FROM entity_follow)"))
}
