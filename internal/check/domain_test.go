package check_test

import (
	"context"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"herald/internal/check"
)

func TestDomain(t *testing.T) {
	t.Parallel()

	const (
		spf, dmarc, key = "v=spf1 include:sendgrid.net ~all", "v=DMARC1; p=reject", "k=rsa; t=s; p=MIGf"
		noKey           = "there is no key under the selectors s1, s2: receivers cannot verify signatures"
		publishKey      = "publish the records that your mail provider names, or name its selectors by --dkim-selector"
		publishPolicy   = "publish one, at first v=DMARC1; p=none; rua=mailto:…, which only reports"
	)
	for name, tt := range map[string]struct {
		domain          string // empty: example.com
		change          map[string][]string
		row             string // empty: no mistake
		problem, remedy string
	}{
		"whole":               {},
		"key under the other": {change: map[string][]string{"s1._domainkey.example.com.": nil, "s2._domainkey.example.com.": {key}}},
		"policy of the parent": {domain: "mail.example.com", change: map[string][]string{
			"mail.example.com.": {spf}, "s1._domainkey.mail.example.com.": {key},
		}},
		"no SPF": {change: map[string][]string{"example.com.": {"google-site-verification=1"}}, row: "SPF",
			problem: "there is no TXT record that begins with v=spf1: nobody knows who may send its mails",
			remedy:  "publish the record that your mail provider names"},
		"two of SPF": {change: map[string][]string{"example.com.": {spf, "v=spf1 -all"}}, row: "SPF",
			problem: "there are 2 TXT records that begin with v=spf1: receivers then accept none", remedy: "merge them into one record"},
		"no DKIM": {change: map[string][]string{"s1._domainkey.example.com.": nil}, row: "DKIM", problem: noKey, remedy: publishKey},
		"revoked key": {change: map[string][]string{"s1._domainkey.example.com.": {"v=DKIM1; p="}}, row: "DKIM",
			problem: noKey, remedy: publishKey},
		"no DMARC": {change: map[string][]string{"_dmarc.example.com.": nil}, row: "DMARC",
			problem: "there is no record at _dmarc.example.com: receivers may reject its mails, or accept forged ones", remedy: publishPolicy},
		"another record in its place": {domain: "mail.example.com", row: "DMARC",
			change: map[string][]string{
				"mail.example.com.": {spf}, "s1._domainkey.mail.example.com.": {key}, "_dmarc.example.com.": {spf},
			},
			problem: "there is no record at _dmarc.mail.example.com or _dmarc.example.com: " +
				"receivers may reject its mails, or accept forged ones", remedy: publishPolicy},
	} {
		zone := map[string][]string{"example.com.": {spf, "something else"}, "_dmarc.example.com.": {dmarc}, "s1._domainkey.example.com.": {key}}
		for name, records := range tt.change {
			zone[name] = records
		}
		domain := "example.com"
		if tt.domain != "" {
			domain = tt.domain
		}
		found := check.Run(t.Context(), []check.Subject{check.Domain(resolver(dnsServer(t, zone)), domain, []string{"s1", "s2"})}).Mistakes
		if tt.row == "" {
			require.Empty(t, found, name)
			continue
		}
		require.Len(t, found, 1, name)
		require.Equal(t, "domain "+domain+" "+tt.row, found[0].Where(), name)
		require.Equal(t, tt.problem, found[0].Problem, name)
		require.Equal(t, tt.remedy, found[0].Remedy, name)
	}
}

// Without DNS, nothing is said about the domain's records.
func TestDomainWithoutDNS(t *testing.T) {
	t.Parallel()

	found := check.Run(t.Context(), []check.Subject{check.Domain(resolver("127.0.0.1:1"), "example.com", []string{"s1"})}).Mistakes
	require.Len(t, found, 1)
	require.Equal(t, "domain example.com DNS", found[0].Where())
	require.Equal(t, "the query failed: no answer", found[0].Problem)
	require.Equal(t, "check again where DNS answers", found[0].Remedy)
}

func resolver(server string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server)
	}}
}

// dnsServer serves the TXT records of a zone until the end of the test, and returns its address.
func dnsServer(t *testing.T, zone map[string][]string) string {
	t.Helper()
	conn := must(net.ListenPacket("udp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		for buffer := make([]byte, 512); ; {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(answer(buffer[:n], zone), from)
		}
	}()
	return conn.LocalAddr().String()
}

func answer(question []byte, zone map[string][]string) []byte {
	var m dnsmessage.Message
	if m.Unpack(question) != nil || len(m.Questions) == 0 {
		return nil
	}
	asked := m.Questions[0]
	m.Header = dnsmessage.Header{ID: m.ID, Response: true, Authoritative: true, RecursionAvailable: true}
	m.Additionals = nil
	for _, text := range zone[asked.Name.String()] {
		m.Answers = append(m.Answers, dnsmessage.Resource{
			Header: dnsmessage.ResourceHeader{Name: asked.Name, Type: asked.Type, Class: asked.Class, TTL: 1},
			Body:   &dnsmessage.TXTResource{TXT: []string{text}},
		})
	}
	if len(m.Answers) == 0 {
		m.RCode = dnsmessage.RCodeNameError
	}
	packed, _ := m.Pack()
	return packed
}
