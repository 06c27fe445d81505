package e2e_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
	"herald/internal/notification"
	"herald/tools/sandbox"
)

// What real people put into payloads, templates and addresses arrives at the providers in the form that
// they need, or fails with a reason. No placeholder and no error text of Go reaches anybody.
func TestTexts(t *testing.T) {
	t.Parallel()

	s := newSystem(t, "TEMPLATE_LINK_SCHEMES=myapp")
	s.starter("migrate", "up")
	const order = `<a href="{{.payload.link}}">{{if gt .payload.total 100}}Big{{else}}Small{{end}}</a>`
	s.fill(
		postgrestest.Recipient{
			UserID: "p1", Name: "Pat", Email: " anna@müller.example ", Phone: "+39 340 123-4567", Locale: "zh-Hant-TW", Timezone: "Asia/Calcutta",
		},
		postgrestest.Recipient{UserID: "p2", Name: "Kim", Email: "kim@example.com", Phone: "+41 (0)79 123 45 67"},
		postgrestest.Recipient{UserType: notification.Admin, UserID: "a1", Name: "Ada", Slack: s.sandbox.URL + "/services/T1/B1/secret "},
		postgrestest.Route{EventType: "ORDER"},
		postgrestest.Route{EventType: "ORDER", Channel: notification.SMS, Strategy: notification.Delayed, SendAtPath: "at"},
		postgrestest.Route{EventType: "ALERT", Channel: notification.Slack},
		postgrestest.Template{
			EventType: "ORDER", Channel: notification.Email, Title: `Total {{printf "%.2f" .payload.total}} of {{.payload.shop}}` + "\n",
			Body: "<!--[if mso]><td><![endif]-->" + order,
		},
		postgrestest.Template{EventType: "ORDER", Channel: notification.Email, Locale: "zh", Title: "简体", Body: "x"},
		postgrestest.Template{
			EventType: "ORDER", Channel: notification.Email, Locale: "zh-Hant", Title: "繁體 {{.payload.total}}", Body: order,
		},
		postgrestest.Template{
			EventType: "ORDER", Title: "Order", Body: "{{.payload.total}} {{if .payload.fee}}fee{{else}}no fee{{end}} {{.payload.note}}",
		},
		postgrestest.Template{
			EventType: "ALERT", Channel: notification.Slack, Title: "Alert",
			Body: "<{{.payload.link}}|Open> {{.payload.shop}} https://shop.example/", URL: "https://shop.example/a",
		})
	w := s.startAll()

	emit := func(name, eventType, aggregate, payload string) string {
		return s.emit(s.name+"-"+name, eventType, aggregate, payload)
	}
	const rest = `"shop": "Trattoria\nda Ada", "fee": 0.00, "note": "100%!d(x)", "at": "2026-01-24T18:00:00.000+0000"`
	good := emit("good", "ORDER", "CUSTOMER/p1", `{"total": 120.50, "link": "myapp://order/7", `+rest+`}`)
	other := emit("other", "ORDER", "CUSTOMER/p2", `{"total": 12, "link": "tel:+41791234567", `+rest+`}`)
	bad := emit("bad", "ORDER", "CUSTOMER/p2", `{"total": "12", "link": "https://shop.example", `+rest+`}`)
	link := emit("link", "ORDER", "CUSTOMER/p1", `{"total": 12, "link": "otherapp://x", `+rest+`}`)
	alert := emit("alert", "ALERT", "ADMIN/0", `{"link": "https://shop.example/?a=1&b=2", "shop": "<!channel>"}`)
	mention := emit("mention", "ALERT", "ADMIN/0", `{"link": "!channel", "shop": "x"}`)
	for _, event := range []string{good, other, bad, link, alert, mention} {
		s.awaitSuccess(event)
	}

	sent := map[string]sandbox.Entry{}
	for _, message := range s.messages() {
		sent[message.DeliveryID] = message
	}
	for id, want := range map[string]sandbox.Entry{
		good + "-customerp1-EMAIL": {Recipient: "anna@xn--mller-kva.example", Title: "繁體 120.50", Body: `<a href="myapp://order/7">Big</a>`},
		good + "-customerp1-SMS":   {Recipient: "+393401234567", Body: "120.50 no fee 100%!d(x)"},
		other + "-customerp2-EMAIL": {Recipient: "kim@example.com", Title: "Total 12.00 of Trattoria da Ada",
			Body: `<!--[if mso]><td><![endif]--><a href="tel:&#43;41791234567">Small</a>`},
		alert + "-admina1-SLACK": {Recipient: "/services/T1/B1/secret", Title: "Alert",
			Body: "*<https://shop.example/a|Alert>*\n<https://shop.example/?a=1&amp;b=2|Open> &lt;!channel&gt; <https://shop.example/>"},
	} {
		got, found := sent[id]
		require.True(t, found, id)
		require.Equal(t, want, sandbox.Entry{Recipient: got.Recipient, Title: got.Title, Body: got.Body}, id)
	}
	s.requireDelivery(other+"-customerp2-SMS", "FAILED", "invalid number: with a 0 after the country code")
	s.requireDelivery(bad+"-customerp2-EMAIL", "FAILED", `template ORDER/EMAIL/en: title: key "total" does not fit the format of its printf`)
	s.requireDelivery(link+"-customerp1-EMAIL", "FAILED", `template ORDER/EMAIL/zh-Hant: body: key "link" is not a link that is allowed`)
	s.requireDelivery(mention+"-admina1-SLACK", "FAILED", `template ALERT/SLACK/en: body: key "link" is not a link that is allowed`)
	require.Equal(t, "+39 340 123-4567", s.stored(`SELECT recipient_address FROM notification WHERE delivery_id = $1`, good+"-customerp1-SMS"),
		"the stored text stays")
	require.Zero(t, s.count(`SELECT count(*) FROM recipient_suppression`))

	out, err := s.tryStarter("check")
	require.Error(t, err)
	require.Contains(t, out,
		"1 row has a phone number with a 0 after the country code, which is dialled only inside the country, so each SMS to them fails: "+
			"CUSTOMER/p2")
	require.Contains(t, out, `key "link" is not a link that is allowed`)
	require.NotContains(t, out, "otherapp")
	require.NotContains(t, out, "79 123")
	out = s.starter("template", "preview", "--event", good, "--recipient", "CUSTOMER/p1", "--channel", "EMAIL")
	require.Contains(t, out, "繁體 120.50")
	require.NoError(t, w.stop())
	require.Equal(t, notification.Channel("SMS"), sent[good+"-customerp1-SMS"].Channel)
}

// stored returns a text of the database.
func (s *system) stored(sql string, args ...any) (text string) {
	s.t.Helper()
	require.NoError(s.t, s.store.Pool.QueryRow(s.t.Context(), sql, args...).Scan(&text))
	return text
}
