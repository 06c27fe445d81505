package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A row that cannot be marked delays only itself, and is not sent again.
func TestWalkOfARowThatCannotBeMarked(t *testing.T) {
	t.Parallel()

	tests := []struct{ name, forbid, allow string }{
		{"a CHECK", "ALTER TABLE outbox ADD CONSTRAINT odd CHECK (status <> 'SENT' OR payload <> 'odd')",
			"ALTER TABLE outbox DROP CONSTRAINT odd"},
		{
			"a trigger", `CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF old.payload = 'odd' THEN RAISE EXCEPTION 'not %',
				old.payload; END IF; RETURN new; END $$;
				CREATE TRIGGER odd BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION odd()`, "DROP TRIGGER odd ON outbox",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := newService(t, orders(), "orders-out")
			exec(t, s.business, tt.forbid)
			s.many(t, 1, 30, 3, "orders-out")
			s.order(t, 31, 31%3, "orders-out", "odd")
			s.many(t, 32, 70, 3, "orders-out")
			s.poll(t)
			s.await(t, 69, "status = 'SENT'")
			s.known(t, 1, "row_key = '"+orderID(31)+"' AND sent_at IS NOT NULL AND marked_at IS NULL AND error ~ 'SQLSTATE'")
			exec(t, s.business, tt.allow)
			exec(t, s.herald, "UPDATE source_row SET next_attempt_at = NULL")
			s.await(t, 70, "status = 'SENT'")
			s.known(t, 0, "true")
			require.Zero(t, s.requireOrder(t, "orders-out", 1, 70, 3), "nothing is sent twice")
		})
	}
}

// If the service holds the lock of a row, the other rows are still marked.
func TestWalkOfALockedRow(t *testing.T) {
	t.Parallel()

	s := newService(t, orders(), "orders-out")
	s.many(t, 1, 70, 3, "orders-out")
	tx, err := s.business.Pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM outbox WHERE id = $1 FOR UPDATE", orderID(5))
	require.NoError(t, err)
	s.poll(t)
	s.await(t, 69, "status = 'SENT'")
	s.known(t, 1, "row_key = '"+orderID(5)+"' AND sent_at IS NOT NULL")
	require.NoError(t, tx.Rollback(t.Context()))
	exec(t, s.herald, "UPDATE source_row SET next_attempt_at = NULL")
	s.await(t, 70, "status = 'SENT'")
	require.Zero(t, s.requireOrder(t, "orders-out", 1, 70, 3))
}
