package check

import (
	"context"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Domain checks that receivers can tell real e-mails of a domain from forged ones: by SPF, DMARC, and
// DKIM under at least one of the selectors.
func Domain(dns *net.Resolver, domain string, selectors []string) Subject {
	d := sendingDomain{dns, domain}
	return Subject{"domain " + domain, func(ctx context.Context) ([]Mistake, error) {
		ctx, cancel := context.WithTimeout(ctx, serverTimeout)
		defer cancel()
		mistakes, err := inTurn(ctx, d.spf, func(ctx context.Context) ([]Mistake, error) { return d.dkim(ctx, selectors) }, d.dmarc)
		if err != nil {
			mistakes = append(mistakes, d.mistake("DNS", "the query failed: "+dnsCause(err), "check again where DNS answers"))
		}
		return mistakes, nil
	}}
}

type sendingDomain struct {
	dns  *net.Resolver
	name string
}

var (
	spfRecord   = regexp.MustCompile(`(?i)^v=spf1( |$)`)
	dmarcRecord = regexp.MustCompile(`(?i)^v=DMARC1 *(;|$)`)
	dkimKey     = regexp.MustCompile(`(^|;)\s*p\s*=\s*[^\s;]`) // without a value the key is revoked
)

func (d sendingDomain) spf(ctx context.Context) ([]Mistake, error) {
	found, err := d.records(ctx, d.name, spfRecord)
	switch {
	case err != nil || len(found) == 1:
		return nil, err
	case len(found) == 0:
		return []Mistake{d.mistake("SPF", "there is no TXT record that begins with v=spf1: nobody knows who may send its mails", "publish the record that your mail provider names")}, nil
	default:
		return []Mistake{d.mistake("SPF", fmt.Sprintf("there are %d TXT records that begin with v=spf1: receivers then accept none", len(found)), "merge them into one record")}, nil
	}
}

func (d sendingDomain) dkim(ctx context.Context, selectors []string) ([]Mistake, error) {
	for _, selector := range selectors {
		if found, err := d.records(ctx, selector+"._domainkey."+d.name, dkimKey); err != nil || len(found) > 0 {
			return nil, err
		}
	}
	return []Mistake{d.mistake("DKIM", "there is no key under the selectors "+strings.Join(selectors, ", ")+": receivers cannot verify signatures", "publish the records that your mail provider names, or name its selectors by --dkim-selector")}, nil
}

// dmarc also accepts the record of the registered domain, which applies to all domains below it.
func (d sendingDomain) dmarc(ctx context.Context) ([]Mistake, error) {
	names := []string{d.name}
	if registered, err := publicsuffix.EffectiveTLDPlusOne(d.name); err == nil && registered != d.name {
		names = append(names, registered)
	}
	for _, name := range names {
		if found, err := d.records(ctx, "_dmarc."+name, dmarcRecord); err != nil || len(found) > 0 {
			return nil, err
		}
	}
	return []Mistake{d.mistake("DMARC", "there is no record at _dmarc."+strings.Join(names, " or _dmarc.")+": receivers may reject its mails, or accept forged ones", "publish one, at first v=DMARC1; p=none; rua=mailto:…, which only reports")}, nil
}

// records returns the TXT records of a name that match a form.
func (d sendingDomain) records(ctx context.Context, name string, form *regexp.Regexp) ([]string, error) {
	found, err := d.dns.LookupTXT(ctx, name+".") // the dot keeps search domains out
	var unknown *net.DNSError
	if errors.As(err, &unknown) && unknown.IsNotFound {
		return nil, nil
	}
	return slices.DeleteFunc(found, func(record string) bool { return !form.MatchString(record) }), err
}

func (d sendingDomain) mistake(row, problem, remedy string) Mistake {
	return Mistake{Place: "domain " + d.name, Row: row, Problem: problem, Remedy: remedy}
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
