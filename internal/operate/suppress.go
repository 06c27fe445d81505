package operate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"herald/internal/address"
	"herald/internal/advice"
	"herald/internal/list"
	"herald/internal/notification"
	"herald/internal/suppression"
)

// AddressedChannels returns the channels whose addresses can be suppressed.
func AddressedChannels() []notification.Channel {
	return slices.DeleteFunc(notification.Channels(), func(c notification.Channel) bool { return c.AddressExample() == "" })
}

// Address is an address that an operator has typed. Herald stores and prints only its hash.
type Address struct {
	Channel notification.Channel
	Text    string
}

// Check returns an error if the text is no address of the channel.
func (a Address) Check() error {
	if _, flaw := address.Normal(a.Channel, a.Text); flaw != "" || a.Channel.AddressColumn() == "" {
		return fmt.Errorf("the address is not valid for %s: give one such as %s", a.Channel, a.Channel.AddressExample())
	}
	return nil
}

func (a Address) key() string { return address.Key(a.Channel, a.Text) }

// Hashes returns the hashes of the address in recipient_suppression, one for each key of
// [db.DB.AddressKeys].
func (a Address) Hashes(keys []notification.AddressKey) ([][]byte, error) {
	if len(keys) == 0 {
		return nil, advice.With(suppression.ErrNoSecret, `set it to the secret of worker and gateway; for the local stack: eval "$(make -s env)"`)
	}
	var hashes [][]byte
	for _, key := range keys {
		hashes = append(hashes, key.Hash(a.key()))
	}
	return hashes, nil
}

// Suppressing is an order to send nothing more to an address.
type Suppressing struct {
	Address
	Reason notification.SuppressionReason
	Detail string
}

// maxSuppressionDetail is the largest length of a detail, in bytes.
const maxSuppressionDetail = 1000

// Check returns an error if the detail is too long or names the address, or if the address is
// invalid.
func (s Suppressing) Check() error {
	if err := s.Address.Check(); err != nil {
		return err
	}
	switch {
	case len(s.Detail) > maxSuppressionDetail:
		return fmt.Errorf("the detail must have at most %d bytes", maxSuppressionDetail)
	case s.names(s.key()), s.names(strings.ToLower(notification.TrimAddress(s.Text))):
		return errors.New("the detail must not contain the address: Herald does not store it")
	default:
		return nil
	}
}

// names reports whether the detail contains a spelling of the address.
func (s Suppressing) names(spelling string) bool {
	return strings.Contains(strings.ToLower(s.Detail), spelling)
}

// Suppress suppresses an address, and returns the row. A row that existed before stays as it is.
func (o *Operator) Suppress(ctx context.Context, s Suppressing) (row list.Suppression, before bool, err error) {
	rows, hashes, err := o.against(ctx, s.Address)
	if err != nil {
		return row, false, err
	}
	if row, before = rowFor(rows, s.Reason); before {
		return row, true, nil
	}
	if err := o.Record(ctx, o.Order.Flags, string(s.Channel)+" "+list.ShortHash(hashes[0])); err != nil {
		return row, false, err
	}
	if err := suppression.On(o.DB).Suppress(ctx, s.Channel, s.Text, s.Reason, s.Detail); err != nil {
		return row, false, err
	}
	rows, _, err = o.against(ctx, s.Address)
	row, _ = rowFor(rows, s.Reason)
	return row, false, err
}

// PlanUnsuppress returns the rows that [Operator.Unsuppress] would delete. If there are none, it
// returns an error. An empty reason matches all rows of the address.
func (o *Operator) PlanUnsuppress(ctx context.Context, a Address, reason notification.SuppressionReason) ([]list.Suppression, error) {
	rows, _, err := o.against(ctx, a)
	if err != nil {
		return nil, err
	}
	if reason != "" {
		rows = slices.DeleteFunc(rows, func(row list.Suppression) bool { return row.Reason != reason })
	}
	if len(rows) == 0 {
		return nil, advice.With(errors.New("this address has no such suppression"),
			fmt.Sprintf("check its spelling; `starter suppression list --channel %s` lists the suppressions; --address finds one address",
				a.Channel))
	}
	return rows, nil
}

// Unsuppress deletes the planned rows, so that Herald may send to the address again.
func (o *Operator) Unsuppress(ctx context.Context, a Address, planned []list.Suppression) error {
	if err := o.Record(ctx, o.Order.Flags, string(a.Channel)+" "+planned[0].AddressHash); err != nil {
		return err
	}
	for _, row := range planned {
		if _, err := suppression.On(o.DB).Unsuppress(ctx, a.Channel, a.Text, row.Reason); err != nil {
			return err
		}
	}
	return nil
}

// against returns the suppressions of an address, one for each reason, and its hashes.
func (o *Operator) against(ctx context.Context, a Address) ([]list.Suppression, [][]byte, error) {
	hashes, err := a.Hashes(o.DB.AddressKeys())
	if err != nil {
		return nil, nil, err
	}
	filter := list.SuppressionFilter{Channel: a.Channel, AddressHashes: hashes}
	found, err := list.Reader{Pool: o.DB.Pool}.Suppressions(ctx, filter, len(hashes)*len(notification.SuppressionReasons()))
	var rows []list.Suppression
	for _, row := range found {
		if _, known := rowFor(rows, row.Reason); !known {
			rows = append(rows, row)
		}
	}
	return rows, hashes, err
}

func rowFor(rows []list.Suppression, reason notification.SuppressionReason) (list.Suppression, bool) {
	i := slices.IndexFunc(rows, func(row list.Suppression) bool { return row.Reason == reason })
	if i < 0 {
		return list.Suppression{}, false
	}
	return rows[i], true
}
