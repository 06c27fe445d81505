package source

import "context"

// MarkSent marks rows as sent. Those that are sent already, or gone, stay as they are.
func (t *Table) MarkSent(ctx context.Context, keys []string) error {
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.sent), keys)
	return t.wrap(err, "mark rows as sent in")
}

// MarkFailed marks pending rows as failed, and says why. It does nothing where the
// dialect has no word for that: the rows stay pending.
func (t *Table) MarkFailed(ctx context.Context, keys []string, message string) error {
	if t.dialect.failed == "" {
		return nil
	}
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.failed), keys, cut(message))
	return t.wrap(err, "mark rows as failed in")
}

// cut keeps as much of a message as the column is sure to hold.
func cut(message string) string {
	if runes := []rune(message); len(runes) > errorLength {
		return string(runes[:errorLength-1]) + "…"
	}
	return message
}

// Reopen makes failed rows pending again. It does nothing where the dialect has no word
// for failed ones: they are pending.
func (t *Table) Reopen(ctx context.Context, keys []string) error {
	if t.dialect.reopen == "" {
		return nil
	}
	_, err := t.pool.Exec(ctx, t.sql(t.dialect.reopen), keys)
	return t.wrap(err, "reopen rows of")
}
