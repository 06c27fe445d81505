package sandbox_test

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/notification"
	"herald/tools/sandbox"
)

func TestPage(t *testing.T) {
	t.Parallel()
	b := start(t)
	page := func() string {
		status, header, body := b.answer(t, call{method: http.MethodGet, path: "/"})
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, header.Get("Content-Type"), "text/html")
		require.NotEmpty(t, header.Get("Content-Security-Policy"))
		return body
	}
	require.Contains(t, page(), "Nothing was sent yet.")

	b.answer(t, mailCall(mailWith(object{"subject": "<script>alert(1)</script>"})))
	b.answer(t, smsCall(smsWith("Body", "<b>bold</b>")))
	b.setFault(t, notification.Slack, `{"drop":"after"}`)
	//nolint:bodyclose // no answer, so no body
	_, err := b.do(t, slackCall(slackPath, strings.ReplaceAll(goodPost, "Table", "&lt;i&gt;Table")))
	require.Error(t, err)

	body := page()
	require.NotContains(t, body, "<script>")
	require.NotContains(t, body, "<b>")
	require.NotContains(t, body, "<i>")
	for _, text := range []string{
		"&lt;script&gt;alert(1)&lt;/script&gt;", "&lt;b&gt;bold&lt;/b&gt;", "&lt;i&gt;Table", "202 accepted", "accepted, not told",
		"evt-1-staff10-EMAIL", "ada@example.com", `fault {&#34;drop&#34;:&#34;after&#34;}`,
	} {
		require.Contains(t, body, text)
	}
	require.Less(t, strings.Index(body, "evt-1-staff10-SLACK"), strings.Index(body, "evt-1-staff10-EMAIL"), "newest first")
}

// The page describes the settings of receipts in words.
func TestPageOfReceipts(t *testing.T) {
	t.Parallel()

	for settings, want := range map[string]string{
		``:                  "0 waiting, 0 taken, 0 refused, 0 lost. A receipt comes after 1s.</p>",
		`{"delay":"300ms"}`: "A receipt comes after 300ms.</p>",
		`{"late":"1m","twice":true,"lost":true,"shuffled":true,"rate":0.5}`: "A receipt comes after 1s. 50% come 1m0s late, twice, in any " +
			"order, never.</p>",
		`{"twice":true,"outcomes":{"ada@example.com":"delivered"}}`: "A receipt comes after 1s. All come twice. Addresses with a given " +
			"outcome: 1.</p>",
	} {
		b := startWith(t, sandbox.Config{Ledger: filepath.Join(t.TempDir(), "ledger.ndjson"), Gateway: "http://127.0.0.1:1", Receipts: settings})
		body := b.get(t, "/")
		require.Contains(t, body, want)
	}
}

// The page shows only the newest entries and the beginning of each text.
func TestPageIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t)
	for n := range 210 {
		b.answer(t, post(fmt.Sprintf("evt-%d", n)))
	}
	b.answer(t, slackCall(slackPath, `{"text":"`+strings.Repeat("à", 300_000)+`"}`))
	body := b.get(t, "/")
	require.Less(t, len(body), 200_000)
	require.Equal(t, 200, strings.Count(body, "<tr>\n  <td"))
	require.Contains(t, body, ">evt-209<")
	require.NotContains(t, body, ">evt-10<")
	require.Contains(t, body, `<span class="count">211</span>`)
	require.Len(t, b.all(t), 211)
}

// A filter in the URL selects messages from the whole ledger.
func TestPageFilters(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.answer(t, mailCall(goodMail()))
	for n := range 205 {
		b.answer(t, post(fmt.Sprintf("evt-%d", n)))
	}
	b.answer(t, smsCall(smsWith("To", "+15005550001"))) // refused
	tests := map[string]struct {
		want []string
		not  []string
	}{
		"?channel=EMAIL": {want: []string{">evt-1-staff10-EMAIL<", "<option selected>EMAIL<"},
			not: []string{"SLACK</td>", "SMS</td>"}},
		"?channel=&recipient=ADA@&x=y": {want: []string{">evt-1-staff10-EMAIL<", `value="ADA@"`}, not: []string{"SLACK</td>", "SMS</td>"}},
		"?accepted=false": {want: []string{">SMS</td>", `<option value="false" selected>`, `?accepted=false"`},
			not: []string{"SLACK</td>", "EMAIL</td>"}},
		"?accepted=true&channel=SLACK":   {want: []string{">evt-204<", ">evt-5<"}, not: []string{">evt-4<", "SMS</td>"}},
		"?accepted=false&channel=EMAIL":  {want: []string{"No message matches the filter."}, not: []string{"<td"}},
		`?recipient="><script>alert(1)<`: {want: []string{"No message matches the filter."}, not: []string{"<script>alert"}},
	}
	for query, tt := range tests {
		body := b.expect(t, http.StatusOK,
			call{method: http.MethodGet, path: "/" + strings.NewReplacer(`"`, "%22", "<", "%3C", ">", "%3E").Replace(query)})
		for _, text := range tt.want {
			require.Contains(t, body, text, query)
		}
		for _, text := range tt.not {
			require.NotContains(t, body, text, query)
		}
	}
	for _, query := range []string{"?channel=FAX", "?accepted=perhaps"} {
		b.expect(t, http.StatusBadRequest, call{method: http.MethodGet, path: "/" + query})
	}
}

// A mail is shown whole: as HTML in a frame without scripts, and as text.
func TestPageOfMail(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.answer(t, post("evt-1"))
	long := "<script>alert(1)</script><p>" + strings.Repeat("à", 5_000) + "</p>"
	b.answer(t, mailCall(mailWith(object{
		"content": []any{object{"type": "text/plain", "value": "Plain & short"}, object{"type": "text/html", "value": long}},
	})))
	page := b.get(t, "/?channel=EMAIL")
	path := regexp.MustCompile(`/messages/\d+`).FindString(page)
	require.NotEmpty(t, path)
	all := b.get(t, "/")
	require.Contains(t, all, path+`"`, "the path does not depend on the filter")

	status, header, message := b.answer(t, call{method: http.MethodGet, path: path})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, message, `<iframe class="sheet" sandbox src="`+path+`/mail"`)
	require.Contains(t, message, "Plain &amp; short</pre>")
	require.NotContains(t, message, "alert")
	require.NotContains(t, header.Get("Content-Security-Policy"), "unsafe")

	status, header, mail := b.answer(t, call{method: http.MethodGet, path: path + "/mail"})
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, long, mail)
	policy := header.Get("Content-Security-Policy")
	require.Regexp(t, "^sandbox; default-src 'none';", policy)
	require.NotContains(t, policy, "script")

	for _, wrong := range []string{"/messages/1", "/messages/-1", "/messages/999999/mail", "/messages/x"} {
		b.expect(t, http.StatusNotFound, call{method: http.MethodGet, path: wrong})
	}
}

// The page's buttons set and end faults. They keep the filter, and other sites cannot press them.
func TestPageFaultButtons(t *testing.T) {
	t.Parallel()
	b := start(t)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	press := func(site, name, fault string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.URL+"/faults/"+name+"?channel=SMS",
			strings.NewReader(url.Values{"fault": {fault}}.Encode()))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", site)
		answer, err := client.Do(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode, answer.Header.Get("Location")
	}
	page := b.get(t, "/?channel=SMS")
	buttons := regexp.MustCompile(`action="/faults/VONAGE\?channel=SMS">(?s:.*?)</form>`).FindString(page)
	var faults []string
	for _, found := range regexp.MustCompile(`name="fault" value='([^']*)'`).FindAllStringSubmatch(buttons, -1) {
		faults = append(faults, found[1])
	}
	require.Equal(t, []string{`{"status":503}`, `{"latency":"5s"}`}, faults)
	for _, fault := range faults {
		status, to := press("same-origin", "VONAGE", fault)
		require.Equal(t, http.StatusSeeOther, status)
		require.Equal(t, "/?channel=SMS#channels", to)
		set := b.get(t, "/faults")
		require.JSONEq(t, `{"VONAGE":`+fault+`}`, set)
	}
	page = b.get(t, "/")
	require.Contains(t, page, "fault {&#34;latency&#34;:&#34;5s&#34;}")
	require.Contains(t, page, "Mend Vonage")

	status, _ := press("cross-site", "VONAGE", "")
	require.Equal(t, http.StatusForbidden, status)
	status, _ = press("same-origin", "VONAGE", "{}")
	require.Equal(t, http.StatusBadRequest, status)
	status, _ = press("same-origin", "FAX", "")
	require.Equal(t, http.StatusNotFound, status)
	status, _ = press("same-origin", "VONAGE", "")
	require.Equal(t, http.StatusSeeOther, status)
	set := b.get(t, "/faults")
	require.JSONEq(t, `{}`, set)
}
