package check

import (
	"context"
	"errors"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain checks that receivers can tell real e-mails of a domain from forged ones: by SPF, DMARC, and
// DKIM under at least one of the selectors.
func Domain(dns *net.Resolver, domain string, selectors []string) Subject {
	return Subject{"domain " + domain, func(ctx context.Context) ([]Mistake, error) {
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		d := sendingDomain{dns: dns, name: domain, selectors: selectors}
		d.err = d.read(ctx)
		return evaluate(ctx, []sendingDomain{d}, domainFindings)
	}}
}

// sendingDomain is a domain, and what its DNS lacks.
type sendingDomain struct {
	dns       *net.Resolver
	name      string
	selectors []string

	lacksSPF, lacksDKIM, lacksDMARC bool
	spfRecords                      int
	err                             error
}

var domainFindings = []finding[[]sendingDomain]{
	{place: "domain $name", row: "SPF", find: where(func(d sendingDomain) bool { return d.lacksSPF }),
		problem: "there is no TXT record that begins with v=spf1: nobody knows who may send its mails",
		remedy:  "publish the record that your mail provider names"},
	{place: "domain $name", row: "SPF", find: where(func(d sendingDomain) bool { return d.spfRecords > 1 }),
		problem: "there are $spf TXT records that begin with v=spf1: receivers then accept none",
		remedy:  "merge them into one record"},
	{place: "domain $name", row: "DKIM", find: where(func(d sendingDomain) bool { return d.lacksDKIM }),
		problem: "there is no key under the selectors $selectors: receivers cannot verify signatures",
		remedy:  "publish the records that your mail provider names, or name its selectors by --dkim-selector"},
	{place: "domain $name", row: "DMARC", find: where(func(d sendingDomain) bool { return d.lacksDMARC }),
		problem: "there is no record at $policies: receivers may reject its mails, or accept forged ones",
		remedy:  "publish one, at first v=DMARC1; p=none; rua=mailto:…, which only reports"},
	{place: "domain $name", row: "DNS", find: where(func(d sendingDomain) bool { return d.err != nil }),
		problem: "the query failed: $why",
		remedy:  "check again where DNS answers"},
}

func (d sendingDomain) args() args {
	return args{
		"name": d.name, "spf": strconv.Itoa(d.spfRecords), "selectors": strings.Join(d.selectors, ", "),
		"policies": strings.Join(d.policies(), " or "), "why": dnsCause(d.err),
	}
}

var (
	spfRecord   = regexp.MustCompile(`(?i)^v=spf1( |$)`)
	dmarcRecord = regexp.MustCompile(`(?i)^v=DMARC1 *(;|$)`)
	dkimKey     = regexp.MustCompile(`(^|;)\s*p\s*=\s*[^\s;]`) // without a value the key is revoked
)

// read reads the domain's records, until a query fails.
func (d *sendingDomain) read(ctx context.Context) (err error) {
	if d.spfRecords, err = d.records(ctx, spfRecord, d.name); err != nil {
		return err
	}
	d.lacksSPF = d.spfRecords == 0
	var keys []string
	for _, selector := range d.selectors {
		keys = append(keys, selector+"._domainkey."+d.name)
	}
	found, err := d.records(ctx, dkimKey, keys...)
	d.lacksDKIM = err == nil && found == 0
	if err == nil {
		found, err = d.records(ctx, dmarcRecord, d.policies()...)
		d.lacksDMARC = err == nil && found == 0
	}
	return err
}

// policies returns the names under which DMARC's record may be. The record of the registered domain
// applies to all domains below it.
func (d sendingDomain) policies() []string {
	names := []string{"_dmarc." + d.name}
	if registered, err := publicsuffix.EffectiveTLDPlusOne(d.name); err == nil && registered != d.name {
		names = append(names, "_dmarc."+registered)
	}
	return names
}

// records counts the TXT records that match a form, under the first of the names that has one.
func (d *sendingDomain) records(ctx context.Context, form *regexp.Regexp, names ...string) (int, error) {
	for _, name := range names {
		found, err := d.dns.LookupTXT(ctx, name+".") // the dot keeps search domains out
		if unknown, is := errors.AsType[*net.DNSError](err); is && unknown.IsNotFound {
			continue
		}
		matching := slices.DeleteFunc(found, func(record string) bool { return !form.MatchString(record) })
		if err != nil || len(matching) > 0 {
			return len(matching), err
		}
	}
	return 0, nil
}

// dnsCause describes an error without addresses.
func dnsCause(err error) string {
	var failed *net.DNSError
	switch {
	case errors.As(err, &failed) && failed.IsTimeout, errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	default:
		return "no answer"
	}
}
