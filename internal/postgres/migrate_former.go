package postgres

import (
	"context"
	"fmt"
)

const (
	// formerTable is goose's default, where Herald wrote up to formerVersions.
	formerTable    = "goose_db_version"
	formerVersions = 18
)

// findFormer reads what a release applied that wrote into goose_db_version. An
// application's goose may write there as well, or alone. It has no event_outbox with
// leases then, or its versions are not Herald's first ones.
func (m *Migrator) findFormer(ctx context.Context) (record, error) {
	outbox, err := m.columns(ctx, "event_outbox")
	if err != nil || !has(outbox, "seq", "lease_owner", "lease_until") {
		return record{}, err
	}
	former, err := m.columns(ctx, formerTable)
	if err != nil || len(former) == 0 {
		return record{}, err
	}
	all, err := m.versions(ctx, formerTable)
	if err != nil {
		return record{}, err
	}
	applied := map[int64]bool{}
	for version := int64(1); version <= formerVersions && all[version]; version++ {
		applied[version] = true
	}
	for version := range all {
		if version >= 1 && version <= formerVersions && !applied[version] {
			return record{}, m.mixed()
		}
	}
	names, err := m.named(applied)
	if err != nil {
		return record{}, err
	}
	there, err := m.list(ctx, "SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = ANY ($2)", m.schema, names.tables)
	if err != nil {
		return record{}, err
	}
	if len(applied) == 0 || !has(there, names.tables...) {
		return record{}, m.mixed()
	}
	return record{formerTable, applied}, nil
}

// mixed is the error of a goose_db_version that does not tell Herald's versions from
// those of an application.
func (m *Migrator) mixed() error {
	return &SchemaError{
		fmt.Sprintf("schema %s has Herald's event_outbox, but %s does not tell which of Herald's migrations 1 to %d are applied: not all of these versions in it are Herald's",
			m.schema, formerTable, formerVersions),
		fmt.Sprintf("write down those that are: CREATE TABLE %s (LIKE %s INCLUDING ALL), with one row for 0 and for each of them; see docs/upgrading.md", VersionTable, formerTable),
	}
}

// takeOver copies the rows of Herald's migrations.
var takeOver = fmt.Sprintf(`
	INSERT INTO %s (version_id, is_applied, tstamp)
	SELECT   version_id, is_applied, coalesce(tstamp, now())
	FROM     %s
	WHERE    version_id BETWEEN 1 AND %d
	ORDER BY id`, VersionTable, formerTable, formerVersions)
