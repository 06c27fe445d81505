package notification_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
)

func TestIsAudience(t *testing.T) {
	t.Parallel()

	for word, want := range map[string]bool{
		"patient": true, "care-team": true, "team2": true, "guest": true,
		"": false, "all": false, "broadcast": false, "dead-letter": false, "websocket": false, "Patient": false, "a.b": false, "#": false,
		"2nd": false,
	} {
		require.Equal(t, want, notification.IsAudience(word), "%q", word)
	}
}

func TestPassedOver(t *testing.T) {
	t.Parallel()

	restaurant, everybody := notification.Entity{Type: "RESTAURANT", ID: "5"}, notification.Entity{Type: "BROADCAST", ID: "0"}
	tests := []struct {
		people notification.PassedOver
		want   string
	}{
		{people: notification.PassedOver{Entity: restaurant, UserType: "DOCTOR", Count: 2},
			want: "2 members of RESTAURANT/5 have the user type DOCTOR, which is not in user_type"},
		{people: notification.PassedOver{Entity: restaurant, UserType: "DOCTOR", Count: 1},
			want: "1 member of RESTAURANT/5 has the user type DOCTOR, which is not in user_type"},
		{people: notification.PassedOver{Entity: everybody, UserType: "DOCTOR", Count: 3},
			want: "3 recipients have the user type DOCTOR, which is not in user_type"},
		{people: notification.PassedOver{Entity: everybody, UserType: "Dr.\x1b[31m", Count: 1},
			want: `1 recipient has the user type "Dr.\x1b[31m", which is not in user_type`},
		{people: notification.PassedOver{Entity: everybody, UserType: notification.UserType(strings.Repeat("x", 99)), Count: 1},
			want: `1 recipient has the user type "` + strings.Repeat("x", 30) + `", which is not in user_type`},
		{people: notification.PassedOver{Entity: everybody, UserType: "GUEST", Known: true, Count: 2},
			want: "2 recipients of type GUEST have an id that is empty, longer than 64 bytes or not printable"},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, tt.people.String())
	}
}
